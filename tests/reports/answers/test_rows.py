"""The order of the rows of a report."""

from random import Random
from typing import Any

import numpy as np
import pytest

from tracker.reports.answers.rows import ReportRows

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
    rows = ReportRows(KEYS, {"clicks": np.array([2, 2, 3, 1])})
    assert list(rows.ordered(by, descending, NAMES.__getitem__, 4).keys) == expected


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("by", ["key", "name", "clicks", "value"])
def test_rows_that_are_sorted_in_pieces_are_in_the_same_order(
    monkeypatch: pytest.MonkeyPatch, by: Any, descending: bool
) -> None:
    random = Random(7)
    keys = [*random.sample([f"k{number}" for number in range(1000)], 60), "unknown"]
    names = {key: random.choice("aAbB") for key in keys}
    figures = [random.randrange(4) for _ in keys]
    rows = ReportRows(keys, {"clicks": np.array(figures), "value": np.array(figures, object)})
    expected = list(rows.ordered(by, descending, names.__getitem__, len(keys)).keys)
    monkeypatch.setattr("tracker.reports.answers.rows._SORTED_AT_ONCE", 7)
    for at_most in (1, 10, len(keys)):
        assert (
            list(rows.ordered(by, descending, names.__getitem__, at_most).keys)
            == expected[:at_most]
        )


@pytest.mark.parametrize(
    ("billionths", "text"),
    [
        (0, "0"),
        (1, "0.000000001"),
        (-1, "-0.000000001"),
        (999_999_999, "0.999999999"),
        (1_000_000_000, "1"),
        (-12_500_000_000, "-12.5"),
        (100_000_000_000, "100"),
        (10**39, "1" + "0" * 30),
    ],
)
def test_money_has_no_zeros_at_its_end_and_no_sign_at_zero(billionths: int, text: str) -> None:
    counts = ("clicks", "unique_clicks", "bot_clicks", "conversions", "attributed")
    money = np.array([billionths], object)
    rows = ReportRows(
        ["a"], dict.fromkeys(counts, np.array([0])) | {"value": money, "payout": money}
    )
    [measures] = rows.measures()
    assert f"{measures.value:f} {measures.payout:f}" == f"{text} {text}"
