"""The plan of a batch, whatever is stored of it already: a table of events and their states."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from tests.factories import AT_MS, make_click, make_conversion
from tracker.clicks.country import Countries
from tracker.clicks.enrich import Enrichment
from tracker.clock import moment
from tracker.conversions.conversion import Conversion
from tracker.conversions.document import EventIdTaken, document
from tracker.ids import new_id
from tracker.ingest import plan
from tracker.ingest.batch_writer import WriteSet
from tracker.ingest.plan import StoredPart

ACCOUNT, OTHER, SCOPE = new_id().bytes, new_id().bytes, new_id().bytes
ENRICHMENT = Enrichment(Countries(""), store_ip=False)
ONE: Any = ENRICHMENT.document(make_click(UUID(bytes=ACCOUNT)))
TWO: Any = ENRICHMENT.document(make_click(UUID(bytes=ACCOUNT)))
CLICK_ID: bytes = ONE["_id"]
AT = moment(AT_MS)
OTHER_CLICK: bytes = TWO["_id"]

Document = Any


def by_id(*documents: Document) -> dict[Any, Document]:
    return {one["_id"]: one for one in documents}


def event(number: int, click_id: bytes | None = CLICK_ID, **fields: Any) -> Document:
    return document(make_conversion(number, click_id, **fields))


def of(number: int, scope: bytes, click_id: bytes | None = CLICK_ID, **fields: Any) -> Document:
    """Return event `number` with the transaction id `t`."""
    return event(number, click_id, transaction_id="t", transaction_scope=scope, **fields)


def stored(arrived: Document, **fields: Any) -> Document:
    return {**arrived, **fields}


def batch_writes(
    clicks: Sequence[Any] = (),
    events: Sequence[Document] = (),
    stored_clicks: Sequence[Document] = (),
    stored_part: StoredPart = StoredPart(),  # noqa: B008
) -> WriteSet:
    of_events = by_id(*clicks, *stored_clicks)
    return plan.batch_writes(clicks, by_id(*events), of_events, stored_part, AT)


def statuses(write_set: WriteSet) -> dict[int, str]:
    return {one["_id"]: str(one["status"]) for one in write_set.events}


def test_an_empty_batch_needs_no_write() -> None:
    assert batch_writes().is_empty()
    assert plan.settlement_writes([], {}, {}).is_empty()


def test_clicks_that_are_stored_are_left_out() -> None:
    one, two = (ENRICHMENT.document(make_click()) for _ in range(2))
    write_set = batch_writes([one, two], stored_part=StoredPart(clicks=frozenset([one["_id"]])))
    assert write_set == WriteSet([two], [], [])


@pytest.mark.parametrize(
    ("batch", "before", "status"),
    [
        ([], [], "pending"),
        ([ONE], [], "attributed"),
        ([], [ONE], "attributed"),
        ([ONE], [ONE], "attributed"),
        ([TWO], [TWO], "pending"),
    ],
)
def test_an_event_takes_its_clicks_data_wherever_the_click_is(
    batch: list[Document], before: list[Document], status: str
) -> None:
    write_set = batch_writes(batch, [event(1)], before)
    assert statuses(write_set) == {1: status}
    assert write_set.events[0].get("country") == (
        ONE["country"] if status == "attributed" else None
    )


def test_the_stored_click_takes_precedence_over_the_one_that_arrived() -> None:
    write_set = batch_writes([ONE], [event(1)], [{**ONE, "country": "FR"}])
    assert write_set.events[0]["country"] == "FR"


@pytest.mark.parametrize(
    "status", ["pending", "attributed", "no_click", "foreign_click", "duplicate"]
)
def test_an_event_that_is_stored_is_left_out_unless_it_was_claimed(status: str) -> None:
    stored_part = StoredPart(events=by_id(stored(event(1), status=status)))
    assert batch_writes([ONE], [event(1)], stored_part=stored_part) == WriteSet([ONE], [], [])


@pytest.mark.parametrize(
    ("clicks", "fields"),
    [
        ([], {"status": "pending"}),
        ([ONE], {"status": "attributed", "account_id": ACCOUNT, "transaction_scope": ACCOUNT}),
    ],
)
def test_a_claimed_event_moves_on_when_its_entry_arrives(
    clicks: list[Document], fields: Document
) -> None:
    arrived = of(1, CLICK_ID)
    claimed = stored(arrived, status="claimed")
    stored_part = StoredPart(events=by_id(claimed), transactions={(CLICK_ID, "t"): 1})
    write_set = batch_writes([], [arrived], clicks, stored_part)
    assert (write_set.clicks, write_set.events) == ([], [])
    [(moved, changed)] = write_set.moves
    assert moved == claimed
    assert "_id" not in changed
    assert fields.items() <= changed.items()


@pytest.mark.parametrize("status", ["claimed", "attributed", "pending"])
@pytest.mark.parametrize(
    "changed",
    [{"value": "2"}, {"metadata": "{}"}, {"click_id": None}, {"event_config_id": OTHER}],
)
def test_another_event_of_a_stored_id_is_refused(status: str, changed: dict[str, Any]) -> None:
    stored_part = StoredPart(events=by_id(stored(event(1), status=status)))
    other = document(Conversion(**{**_fields(make_conversion(1, CLICK_ID)), **changed}))
    with pytest.raises(EventIdTaken):
        batch_writes([], [other], stored_part=stored_part)


def _fields(event: Conversion) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__struct_fields__}


PENDING, ATTRIBUTED, NO_CLICK, DUPLICATE = "pending", "attributed", "no_click", "duplicate"
HELD_BY_ACCOUNT: dict[tuple[bytes | None, str], int]
HELD_BY_CLICK: dict[tuple[bytes | None, str], int]
HELD_BY_ACCOUNT, HELD_BY_CLICK = {(ACCOUNT, "t"): 9}, {(CLICK_ID, "t"): 9}


@pytest.mark.parametrize(
    ("events", "clicks", "transactions", "expected"),
    [
        # One scope: the first has it, whoever that is.
        ([of(1, SCOPE, None), of(2, SCOPE, None)], [], {}, {1: NO_CLICK}),
        ([of(2, SCOPE, None), of(1, SCOPE, None)], [], {}, {2: NO_CLICK}),
        ([of(1, SCOPE, None), of(2, SCOPE, None)], [], {(SCOPE, "t"): 9}, {}),
        ([of(1, SCOPE, None)], [], {(SCOPE, "t"): 1}, {1: NO_CLICK}),
        ([of(1, SCOPE, None), of(2, OTHER, None)], [], {}, {1: NO_CLICK, 2: NO_CLICK}),
        ([of(1, SCOPE, None)], [], {(SCOPE, "T"): 9, (OTHER, "t"): 9}, {1: NO_CLICK}),
        # The click stands in for the account until it is known.
        ([of(1, CLICK_ID), of(2, CLICK_ID)], [], {}, {1: PENDING}),
        ([of(1, CLICK_ID)], [ONE], {}, {1: ATTRIBUTED}),
        ([of(1, CLICK_ID), of(2, ACCOUNT)], [ONE], {}, {1: ATTRIBUTED}),
        ([of(1, ACCOUNT), of(2, CLICK_ID)], [ONE], {}, {1: ATTRIBUTED, 2: DUPLICATE}),
        ([of(1, CLICK_ID)], [ONE], HELD_BY_ACCOUNT, {1: DUPLICATE}),
        ([of(1, CLICK_ID), of(2, CLICK_ID)], [ONE], HELD_BY_ACCOUNT, {1: DUPLICATE}),
        ([of(1, CLICK_ID)], [ONE], HELD_BY_ACCOUNT | HELD_BY_CLICK, {}),
        ([of(1, CLICK_ID)], [ONE], HELD_BY_CLICK, {1: ATTRIBUTED}),
        ([of(1, CLICK_ID)], [], HELD_BY_CLICK, {}),
        # Two clicks of one account that share it.
        (
            [of(1, CLICK_ID), of(2, OTHER_CLICK, OTHER_CLICK)],
            [ONE, TWO],
            {},
            {1: ATTRIBUTED, 2: DUPLICATE},
        ),
        (
            [of(1, CLICK_ID), of(2, OTHER_CLICK, OTHER_CLICK)],
            [TWO],
            {},
            {1: PENDING, 2: ATTRIBUTED},
        ),
    ],
)
def test_a_transaction_id_has_one_holder_in_its_scope(
    events: list[Document],
    clicks: list[Document],
    transactions: dict[tuple[bytes | None, str], int],
    expected: dict[int, str],
) -> None:
    for stored_before in (True, False):
        where = {"stored_clicks" if stored_before else "clicks": clicks}
        write_set = batch_writes(
            events=events, stored_part=StoredPart(transactions=transactions), **where
        )
        assert statuses(write_set) == expected


def test_a_duplicate_keeps_its_scope_and_takes_nothing_from_its_click() -> None:
    write_set = batch_writes([], [of(1, CLICK_ID)], [ONE], StoredPart(transactions=HELD_BY_ACCOUNT))
    assert write_set.events == [{**of(1, CLICK_ID), "status": DUPLICATE}]


def test_settling_moves_the_events_whose_click_is_there() -> None:
    write_set = plan.settlement_writes([event(1), event(2, OTHER_CLICK)], by_id(ONE), {})
    [(moved, fields)] = write_set.moves
    assert (moved["_id"], fields["status"], fields["link_id"]) == (1, ATTRIBUTED, ONE["link_id"])


@pytest.mark.parametrize(
    ("events", "transactions", "expected"),
    [
        ([of(1, CLICK_ID), of(2, OTHER_CLICK, OTHER_CLICK)], {}, [ATTRIBUTED, DUPLICATE]),
        ([of(1, CLICK_ID)], HELD_BY_ACCOUNT, [DUPLICATE]),
        ([of(1, CLICK_ID)], {(CLICK_ID, "t"): 1}, [ATTRIBUTED]),
        ([of(1, SCOPE, account_id=ACCOUNT)], {(SCOPE, "t"): 1}, [ATTRIBUTED]),
        ([of(1, SCOPE, account_id=OTHER)], {(SCOPE, "t"): 1}, ["foreign_click"]),
        ([event(1), event(2)], HELD_BY_ACCOUNT, [ATTRIBUTED, ATTRIBUTED]),
    ],
)
def test_settling_honours_transaction_ids_too(
    events: list[Document], transactions: dict[tuple[bytes | None, str], int], expected: list[str]
) -> None:
    write_set = plan.settlement_writes(events, by_id(ONE, TWO), transactions)
    assert [move.fields["status"] for move in write_set.moves] == expected


def test_all_transactions_that_an_event_may_come_to_hold_are_looked_up() -> None:
    events = [of(1, CLICK_ID), of(2, SCOPE, None), event(3), of(4, OTHER_CLICK, OTHER_CLICK)]
    assert plan.transactions_of(events, by_id(ONE)) == {
        *((scope, "t") for scope in (CLICK_ID, ACCOUNT, SCOPE, OTHER_CLICK))
    }


def test_planning_changes_none_of_its_arguments() -> None:
    events, stored_part = (
        [of(1, CLICK_ID), of(2, CLICK_ID)],
        StoredPart(transactions=dict(HELD_BY_ACCOUNT)),
    )
    before = [dict(one) for one in events]
    batch_writes([ONE], events, stored_part=stored_part)
    plan.settlement_writes(events, by_id(ONE), stored_part.transactions)
    assert events == before
    assert stored_part.transactions == HELD_BY_ACCOUNT
