"""The places that `lab.mutants` changes, and how: every change is code, and another one."""

import ast
from pathlib import Path

import pytest

from lab.mutants import drawn, mutants, nearest_tests

CODE = '''"""A module, with ü before what is changed."""
import os

LIMIT: int = 3


def inside(size: int = 1) -> bool:
    """Return whether a size is inside."""
    log.info("asked", size=size)
    os.sync()
    return "ü" != "u" and 0 < size
'''


def changes(path: Path) -> dict[str, str]:
    return {one.before: one.after for one in mutants(path)}


def test_comparisons_numbers_calls_and_conditions_are_changed_and_texts_are_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "module.py"
    path.write_text(CODE, encoding="utf-8")
    assert changes(path) == {
        "3": "4",
        "os.sync()": "pass",
        '"ü" != "u" and 0 < size': "('ü' != 'u' or 0 < size)",
        '"ü" != "u"': "'ü' == 'u'",
        "0 < size": "0 <= size",
        "0": "1",
    }


def test_every_change_of_the_service_is_code_and_another_one() -> None:
    for mutant in drawn(seed=1, count=200):
        source = mutant.path.read_bytes()
        changed = mutant.applied(source)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), mutant


def test_a_seed_repeats_its_draw() -> None:
    assert drawn(7, 20) == drawn(7, 20)
    assert drawn(7, 20) != drawn(8, 20)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tracker/calendar.py", [["tests/test_calendar.py"]]),
        ("tracker/links/store.py", [["tests/links/test_store.py"], ["tests/links"]]),
        ("tracker/links/own_slugs.py", [["tests/links"]]),
        ("tracker/unknown.py", []),
    ],
)
def test_the_tests_of_a_file_come_before_those_of_its_room(
    path: str, expected: list[list[str]]
) -> None:
    assert nearest_tests(Path(path)) == expected
