"""The sums of clicks and events, path by path, which are never rounded."""

from decimal import Context, Decimal
from typing import Any
from uuid import UUID

import pytest
from bson import Decimal128
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.rollups.examples import ACCOUNT, CLICK, CONFIG, EVENT, JOINED, LINK
from tracker.conversions.document import Attribution
from tracker.reports.rollups.layout import RollupId, Sums, increments, stored_sums
from tracker.reports.rollups.rollup import Rollup
from tracker.stores.mongodb.documents import as_read
from tracker.visitor_dimensions import NAMES, UNKNOWN

DAY = "2026-01-31"
OF_ACCOUNT = RollupId(ACCOUNT, "account", DAY, None)
OF_LINK = RollupId(ACCOUNT, "link", DAY, LINK)
CELLS = ("total", "hour.09", *(f"{name}.Some {name}" for name in NAMES))
DOMAIN = "domain.go%2Eexample%2Ecom"


def each(cells: tuple[str, ...], **measures: int) -> Sums:
    return {f"{cell}.{name}": number for cell in cells for name, number in measures.items()}


def of_click(click: dict[str, Any]) -> dict[RollupId, Sums]:
    rollup = Rollup()
    rollup.add_click(click)
    return rollup.sums()


@pytest.mark.parametrize(
    ("changed", "measures"),
    [
        ({}, {"clicks": 1}),
        ({"unique": True}, {"clicks": 1, "unique": 1}),
        ({"bot": "crawler"}, {"bots": 1}),
        ({"bot": "prefetch", "unique": True}, {"bots": 1}),
    ],
)
def test_a_click_counts_once_in_each_dimension_of_its_link_and_its_account(
    changed: dict[str, Any], measures: dict[str, int]
) -> None:
    assert of_click(CLICK | changed) == {
        OF_LINK: each(CELLS, **measures),
        OF_ACCOUNT: each((*CELLS, DOMAIN), **measures),
    }


EVENTS = st.fixed_dictionaries(
    {
        "status": st.sampled_from(list(Attribution)),
        "account_id": st.sampled_from([None, ACCOUNT]),
        "event_config_id": st.sampled_from([None, CONFIG]),
        "value": st.none() | st.decimals(-(10**15), 10**15, places=14).map(Decimal128),
        "bot": st.sampled_from([None, "crawler"]),
        "country": st.sampled_from(["DE", UNKNOWN, "$a.b", ""]),
    }
)


@given(st.lists(EVENTS, max_size=5), st.lists(EVENTS, max_size=5))
def test_events_that_are_added_and_subtracted_leave_nothing(
    kept: list[dict[str, Any]], taken_back: list[dict[str, Any]]
) -> None:
    one, other = Rollup(), Rollup()
    for event in taken_back:
        one.add_event(JOINED | event)
    for event in kept:
        one.add_event(JOINED | event)
        other.add_event(JOINED | event)
    for event in reversed(taken_back):
        one.add_event(JOINED | event, sign=-1)
    assert one.sums() == other.sums()


DIGITS = st.decimals(-(10**15), 10**15, places=14) | st.decimals(-1, 1, places=29)


@given(st.lists(DIGITS, min_size=1, max_size=30))
def test_sums_of_money_are_exact_to_a_billionth(amounts: list[Decimal]) -> None:
    rollup = Rollup()
    for amount in amounts:
        rollup.add_event(EVENT | {"value": Decimal128(amount), "payout": None})
    wide = Context(prec=100)
    exact = sum(
        int(wide.scaleb(amount.quantize(Decimal("1e-9"), context=wide), 9)) for amount in amounts
    )
    assert rollup.sums()[OF_ACCOUNT].get("total.value", 0) == exact
    (increased,) = (
        one["u"]["$inc"] for one in rollup.updates(0) if one["q"]["_id"]["of"] == "account"
    )
    stored = increased.get("total.value", Decimal128("0")).to_decimal()
    assert wide.scaleb(stored, 9) == exact


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        *((name, 3) for name in ("clicks", "unique", "bots", "conversions", "bot_conversions")),
        *((name, Decimal128("3E-9")) for name in ("value", "payout", "bot_value", "bot_payout")),
    ],
)
def test_counts_are_stored_as_integers_and_money_as_decimals(
    name: str, stored: int | Decimal128
) -> None:
    assert increments({f"event.none.{name}": 3}) == {f"event.none.{name}": stored}


STORED_CELL = {
    "conversions": 1,
    "value": Decimal128("12.5"),
    "payout": Decimal128("1.25"),
}


@pytest.mark.parametrize(
    ("document", "cell", "link_id", "domain_name"),
    [
        (CLICK, {"clicks": 1}, LINK, "go.example.com"),
        (JOINED, STORED_CELL, LINK, "go.example.com"),
        (EVENT, STORED_CELL, None, UNKNOWN),
    ],
    ids=["a click", "an event with a click", "an event without a click"],
)
def test_an_update_adds_to_the_document_of_its_slot_or_inserts_it(
    document: dict[str, Any], cell: dict[str, Any], link_id: UUID | None, domain_name: str
) -> None:
    rollup = Rollup()
    (rollup.add_click if document is CLICK else rollup.add_event)(document)
    of_link, of_account = rollup.updates(3)
    keys = ("account_id", "of", "day", "link_id", "slot")
    for update, *values in (
        (of_link, ACCOUNT, "link", DAY, link_id, 3),
        (of_account, ACCOUNT, "account", DAY, None, 3),
    ):
        assert list(as_read(update["q"]["_id"]).items()) == list(zip(keys, values, strict=True))
        total = {f"total.{name}": number for name, number in cell.items()}
        assert total.items() <= update["u"]["$inc"].items()
        assert update["upsert"] is True
    assert of_link["u"]["$setOnInsert"] == {"domain_name": domain_name}
    assert of_account["u"].keys() == {"$inc"}
    of = RollupId(ACCOUNT, "link", DAY, link_id)
    assert rollup.domain_names() == {of: domain_name}


STORED: dict[str, Any] = {
    "_id": {"account_id": ACCOUNT, "of": "link", "day": DAY, "link_id": LINK, "slot": 3},
    "domain_name": "go.example.com",
    "total": {"clicks": 3, "bots": 0, "value": Decimal128("12.50"), "payout": Decimal128("0E-9")},
    "hour": {"09": {"changes": 2}},
    "country": {"DE": {"clicks": 2, "payout": Decimal128("-0.000000001")}, "FR": {"clicks": 1}},
    "event": {},
}


def test_the_sums_of_a_stored_document_are_those_of_each_cell_without_zeros_and_counters() -> None:
    assert stored_sums(STORED) == {
        "total.clicks": 3,
        "total.value": 12_500_000_000,
        "country.DE.clicks": 2,
        "country.DE.payout": -1,
        "country.FR.clicks": 1,
    }


def test_an_event_that_is_subtracted_is_a_change_of_its_day_hour_and_link() -> None:
    rollup = Rollup()
    rollup.add_event(EVENT, sign=-1)
    rollup.add_event(JOINED)
    changes = {
        (one["q"]["_id"]["of"], one["q"]["_id"]["link_id"] is None): {
            path: number for path, number in one["u"]["$inc"].items() if path.endswith("changes")
        }
        for one in rollup.updates(0)
    }
    counted = {"total.changes": 1, "hour.09.changes": 1}
    assert changes == {("account", True): counted, ("link", True): counted, ("link", False): {}}


def test_a_change_is_counted_even_if_no_sum_changes() -> None:
    rollup = Rollup()
    rollup.add_event(JOINED, sign=-1)
    rollup.add_event(JOINED)
    assert rollup.sums() == {}
    assert [one["u"]["$inc"] for one in rollup.updates(0)] == [
        {"total.changes": 1, "hour.09.changes": 1}
    ] * 2
