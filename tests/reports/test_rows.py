"""The order of the rows of a report."""

from typing import Any

import numpy as np
import pytest

from tracker.reports.rows import Rows

KEYS = ["c", "a", "d", "b"]
NAMES = {"a": "Same", "b": "same", "c": "Same", "d": "other"}


@pytest.mark.parametrize(
    ("by", "descending", "expected"),
    [
        ("key", False, ["a", "b", "c", "d"]),
        ("key", True, ["d", "c", "b", "a"]),
        ("name", False, ["d", "a", "b", "c"]),
        ("name", True, ["a", "b", "c", "d"]),
        ("clicks", False, ["b", "a", "c", "d"]),
        ("clicks", True, ["d", "a", "c", "b"]),
    ],
)
def test_rows_that_are_equal_are_in_the_order_of_their_keys(
    by: Any, descending: bool, expected: list[str]
) -> None:
    rows = Rows(KEYS, {"clicks": np.array([2, 2, 3, 1])})
    assert list(rows.ordered(by, descending, NAMES, 4).keys) == expected
