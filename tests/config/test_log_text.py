"""Text logs have columns, and no logged value can leave its line."""

from typing import Any

import pytest

from config.log_text import TextRenderer

RECORD = {
    "event": "Redis is unavailable",
    "reason": "no answer",
    "request_id": "r-1",
    "level": "warning",
    "logger": "tracker.service.lifecycle",
    "timestamp": "2026-11-22T13:20:01.123456Z",
}


def rendered(terminal: bool = False, **changed: Any) -> str:
    return TextRenderer(terminal)(None, "", RECORD | changed)


def test_columns_are_time_level_message_and_then_the_fields() -> None:
    assert rendered() == (
        "2026-11-22T13:20:01.123Z  warning  Redis is unavailable                  "
        'reason="no answer" request_id=r-1 logger=tracker.service.lifecycle'
    )
    assert rendered(level="info").index("Redis") == rendered().index("Redis")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        ("", '""'),
        (5, "5"),
        (None, "None"),
        (["a", 1], "\"['a', 1]\""),
        ("two words", '"two words"'),
        ('say "x"', r'"say \"x\""'),
        ("a=b", '"a=b"'),
        ("é", "é"),
        ("two\nlines", r'"two\nlines"'),
        ("\x1b[2J", r'"\u001b[2J"'),
        ("\x9b2J", r'"\u009b2J"'),
        ("\ud800", r'"\ud800"'),
    ],
    ids=repr,
)
def test_a_value_is_one_word_or_quoted(value: object, shown: str) -> None:
    assert f" reason={shown} request_id" in rendered(reason=value)


def test_a_message_cannot_begin_a_line_of_its_own() -> None:
    assert r"two\nlines\u001b[2J" in rendered(event="two\nlines\x1b[2J")
    assert "\n" not in rendered(event="two\nlines", exception="Traceback\n  deep")


def test_on_a_terminal_there_are_colours_and_tracebacks_below() -> None:
    shown = rendered(True, level="error", exception="Traceback\n  deep\x1b[2J")
    assert "\033[31merror  \033[0m" in shown
    assert shown.splitlines()[1:] == ["    Traceback", r"      deep\u001b[2J"]
    assert "\033" not in rendered()
