"""Log records as text for people: time, level and message, then key=value.

Each record is one line. On a terminal it has colours, and a traceback on the lines below.

Guarantee: no logged value can move the cursor or begin a line, because unprintable characters are
escaped.
"""

import json
import re
from collections.abc import MutableMapping
from typing import Any, Final

_LEVEL_WIDTH: Final = 7
_MESSAGE_WIDTH: Final = 36
_DIM: Final = "2"
_LEVEL_COLOURS: Final = {
    "debug": _DIM,
    "info": "32",
    "warning": "33",
    "error": "31",
    "critical": "31;1",
}
_COLUMNS: Final = ("timestamp", "level", "event", "exception", "logger")
_SEPARATOR: Final = re.compile(r"[ \"'=\\]")


class TextRenderer:
    """The last processor of structlog, which turns a record into text."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal

    def __call__(self, _logger: Any, _name: str, record: MutableMapping[str, Any]) -> str:
        level = str(record.get("level", ""))
        fields = [(name, value) for name, value in record.items() if name not in _COLUMNS]
        if "logger" in record:
            fields.append(("logger", record["logger"]))
        exception = record.get("exception")
        if exception and not self._terminal:
            fields.append(("exception", exception))
        columns = (
            self._coloured(_short_time(str(record.get("timestamp", ""))), _DIM),
            self._coloured(level.ljust(_LEVEL_WIDTH), _LEVEL_COLOURS.get(level, "")),
            _printable(str(record.get("event", ""))).ljust(_MESSAGE_WIDTH if fields else 0),
            " ".join(
                f"{self._coloured(f'{name}=', _DIM)}{value_text(value)}" for name, value in fields
            ),
        )
        line = "  ".join(columns).rstrip()
        return line + (_indented(str(exception)) if exception and self._terminal else "")

    def _coloured(self, text: str, colour: str) -> str:
        return f"\033[{colour}m{text}\033[0m" if self._terminal and colour else text


def _short_time(timestamp: str) -> str:
    """Return `timestamp`, such as 2026-01-31T09:00:00.123456Z, cut to milliseconds."""
    head, point, fraction = timestamp.partition(".")
    return f"{head}.{fraction[:3]}Z" if point else timestamp


def value_text(value: object) -> str:
    """Return `value` as one word, or quoted."""
    text = value if isinstance(value, str) else str(value)
    if text.isalnum():  # the most frequent case, with a cheap test
        return text
    if not text.isprintable():
        return json.dumps(text)
    if not text or _SEPARATOR.search(text):
        return json.dumps(text, ensure_ascii=False)
    return text


def _printable(text: str) -> str:
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _indented(exception: str) -> str:
    return "".join(f"\n    {_printable(line)}" for line in exception.splitlines())
