"""Spread amounts: the parts add up, and each is its click's share."""

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tracker.reports.columns import Columns, of_columns
from tracker.reports.costs.spreading import spread, spread_over_rows

AMOUNTS = st.integers(0, 10**21)
CLICKS = st.integers(0, 10**6)
ROW = st.fixed_dictionaries(
    {
        "value": st.sampled_from("ab"),
        "day": st.sampled_from(["2026-01-30", "2026-01-31"]),
        "other": st.sampled_from("xyz"),
        "clicks": CLICKS,
        "bots": CLICKS,
    }
)


@given(amount=AMOUNTS, clicks=st.lists(CLICKS, max_size=9))
def test_parts_are_the_amount_and_differ_by_less_than_a_billionth_from_their_share(
    amount: int, clicks: list[int]
) -> None:
    parts, total = spread(amount, clicks), sum(clicks)
    assert sum(parts) == (amount if total else 0)
    for part, count in zip(parts, clicks, strict=True):
        assert abs(part - Fraction(amount * count, total or 1)) < 1 or not total


def table_of(rows: list[dict[str, Any]]) -> Columns:
    dimensions = {name: [row[name] for row in rows] for name in ("value", "day", "other")}
    measures = {name: [row[name] for row in rows] for name in ("clicks", "bots")}
    return of_columns(dimensions, measures).by(list(dimensions))


def parts_of(rows: list[dict[str, Any]], amount: int) -> dict[Any, tuple[int, int]]:
    """Return the parts of two cells' amounts by row, of all clicks and of bots."""
    table = table_of(rows)
    clicks: dict[tuple[str, str], int] = {}
    for row in rows:
        cell = row["value"], row["day"]
        clicks[cell] = clicks.get(cell, 0) + row["clicks"] + row["bots"]
    amounts = {("a", "2026-01-30"): amount, ("b", "2026-01-31"): amount + 7}
    day = table.dimensions["day"]
    found = spread_over_rows(table, "value", day, amounts, clicks)
    columns = [found.dimensions[name].in_rows() for name in ("value", "day", "other")]
    parts = [found.measures[name].tolist() for name in ("cost", "bot_cost")]
    return dict(zip(zip(*columns, strict=True), zip(*parts, strict=True), strict=True))


@given(rows=st.lists(ROW, max_size=30), amount=AMOUNTS, seed=st.randoms())
def test_the_rows_of_a_cell_share_its_amount_in_any_order_of_rows(
    rows: list[dict[str, Any]], amount: int, seed: Any
) -> None:
    parts = parts_of(rows, amount)
    for cell, whole in ((("a", "2026-01-30"), amount), (("b", "2026-01-31"), amount + 7)):
        of_cell = [row for row in rows if (row["value"], row["day"]) == cell]
        total = sum(row["clicks"] + row["bots"] for row in of_cell)
        found = {key: part for key, part in parts.items() if key[:2] == cell}
        assert sum(every for every, _ in found.values()) == (whole if total else 0)
        for key, (every, bots) in found.items():
            of_row = [row for row in of_cell if row["other"] == key[2]]
            clicks, by_bots = (sum(row[name] for row in of_row) for name in ("clicks", "bots"))
            if total:
                assert abs(every - Fraction(whole * (clicks + by_bots), total)) < 1
                assert abs(bots - Fraction(whole * by_bots, total)) < 1
    assert all(part == (0, 0) for key, part in parts.items() if key[:2] == ("a", "2026-01-31"))
    shuffled = rows[:]
    seed.shuffle(shuffled)
    assert parts_of(shuffled, amount) == parts
