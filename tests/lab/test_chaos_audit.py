"""The audit at the end of `make chaos` finds every kind of fault."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from bson import Decimal128
from msgspec.structs import replace

from lab.chaos.audit import Audit, Figure, Receiver
from lab.chaos.restatements import Statement, totals, wrong_fields
from lab.chaos.result import Result
from lab.chaos.traffic import Ledger, Request
from lab.scene import LIMIT
from tests.factories import Document, make_click_document, make_event_document

ACCOUNT, LINK, CONFIG, WEBHOOK = (UUID(int=number) for number in range(1, 5))


def click(number: int, **fields: Any) -> Document:
    given = {
        "_id": UUID(int=1000 + number),
        "account_id": ACCOUNT,
        "link_id": LINK,
        "query": f"a=1&n={number}&q=2",
        "address": f"81.2.{number}.7",
        "user_agent": "Firefox",
    }
    return make_click_document(**(given | fields))


def event(number: int, **fields: Any) -> Document:
    return make_event_document(
        500 + number,
        account_id=ACCOUNT,
        event_config_id=CONFIG,
        value=Decimal128(Decimal("9.95")),
        payout=Decimal128(Decimal(5)),
        metadata=f'{{"n": {number}}}',
        **fields,
    )


def delivery(number: int) -> Document:
    return {"webhook_id": WEBHOOK, "event_id": 500 + number, "status": "delivered"}


class Run:
    """Three clicks and two events, answered, stored and delivered; then something is changed."""

    def __init__(self) -> None:
        self.ledger, self.receiver = Ledger(), Receiver()
        self.clicks = [click(1), click(2), click(3, bot="crawler", unique=False)]
        self.events = [event(4), event(5, transaction_id="order-5")]
        self.deliveries = [delivery(4), delivery(5)]
        for number in (1, 2, 3):
            self.ledger.add_click(Request(True, number, None, b""), UUID(int=1000 + number))
        self.answer(4, 504)
        self.answer(5, 505, "order-5")
        for number in (504, 505):
            self.receiver.received["/0", number]["msg"] += 1

    def answer(self, number: int, event_id: int, transaction: str | None = None) -> None:
        self.ledger.add_event(Request(False, number, transaction, b""), event_id, "found")

    def audited(self) -> Audit:
        audit = Audit()
        for row in self.clicks:
            audit.add_click(row)
        for row in self.events:
            audit.add_event(row)
        for row in self.deliveries:
            audit.add_delivery(row)
        return audit

    def result(self) -> Result:
        paths = {WEBHOOK: "/0"}
        figures = self.audited().figures(self.ledger, paths, self.receiver, loses_marks=False)
        return Result(
            seed=1,
            seconds=2.0,
            disturbances={"kill web": 1},
            figures=figures,
            other_answers={},
            report_differences=[],
            held=[],
            ended_by_themselves=[],
            p99_wait=0.1,
            longest_wait=0.2,
        )


def test_a_link_has_no_click_beyond_its_limit_and_lacks_none_once_it_led_elsewhere() -> None:
    run, others = Run(), Counter({"click 302": 1})
    for number, is_used_up, wrong in ((LIMIT - 1, 0, 0), (LIMIT - 1, 1, 1), (LIMIT + 2, 0, 2)):
        run.clicks = [click(one, _id=UUID(int=one)) for one in range(number)]
        run.ledger.others = others if is_used_up else Counter()
        assert run.audited().beyond_limit(LINK, run.ledger) == wrong


def test_a_run_without_faults_has_none() -> None:
    assert Run().result().faults() == []
    totals = Run().audited().report_totals()
    assert {name: number for name, number in totals.items() if number} == {
        "clicks": 3,
        "uniqueClicks": 2,
        "conversions": 2,
        "value": 19.9,
    }


FAULTS: dict[str, tuple[Callable[[Run], object], list[str]]] = {
    "a click is lost": (lambda run: run.clicks.pop(0), ["1 clicks lost"]),
    "another click has its id": (lambda run: run.clicks[0].update(query="n=9"), ["1 clicks lost"]),
    "a click is doubled": (
        lambda run: run.clicks.append(click(1, _id=UUID(int=77), unique=False)),
        ["1 clicks doubled"],
    ),
    "a visitor counts twice": (
        lambda run: run.clicks.append(click(9, address="81.2.1.7")),
        ["1 visitors not counted once"],
    ),
    "a visitor never counts": (
        lambda run: run.clicks[0].update(unique=False),
        ["1 visitors not counted once"],
    ),
    "an event is lost": (
        lambda run: run.events.pop(0),
        ["1 events lost", "1 deliveries doubled or unwanted"],
    ),
    "a transaction stays claimed": (
        lambda run: run.events[1].update(status="claimed"),
        ["1 events lost", "1 deliveries doubled or unwanted"],
    ),
    "an event is doubled": (
        lambda run: run.events.append(event(4, _id=600, status="pending")),
        ["1 events doubled"],
    ),
    "a transaction counts twice": (
        lambda run: run.events.append(event(6, transaction_id="order-5", status="pending")),
        ["1 events doubled"],
    ),
    "an id is given twice": (
        lambda run: run.answer(7, 504),
        ["1 events lost", "1 event ids given twice"],
    ),
    "an event stays pending": (
        lambda run: run.events.append(event(8, status="pending", click_id=run.clicks[0]["_id"])),
        ["1 events pending although their click is stored"],
    ),
    "a conversion has no longer the newest status": (
        lambda run: run.ledger.statements["order-5"].append(
            Statement({"reported": "rejected", "value": Decimal("9.95")}, 1, 2, is_answered=True)
        ),
        ["1 conversions whose reported is not the newest"],
    ),
    "a webhook is told of what was never approved": (
        lambda run: run.events[0].update(reported="pending"),
        ["1 deliveries doubled or unwanted"],
    ),
    "a delivery is lost": (lambda run: run.deliveries.pop(), ["1 deliveries lost"]),
    "a delivery is doubled": (
        lambda run: run.deliveries.append(run.deliveries[0]),
        ["1 deliveries doubled or unwanted"],
    ),
    "a delivery stays due": (
        lambda run: run.deliveries[0].update(status="due"),
        ["1 deliveries not delivered"],
    ),
    "a delivery never arrived": (
        lambda run: run.receiver.received.pop(("/0", 504)),
        ["1 deliveries not received"],
    ),
    "a delivery has two ids": (
        lambda run: run.receiver.received["/0", 504].update(["other"]),
        ["1 deliveries received with another id"],
    ),
}


@pytest.mark.parametrize(("change", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found(change: Callable[[Run], object], expected: list[str]) -> None:
    run = Run()
    change(run)
    assert run.result().faults() == expected
    assert f"FAULT: {expected[0]}" in run.result().table()


def told(value: int, first: int, last: int, *, is_answered: bool = True) -> Statement:
    return Statement({"value": Decimal(value)}, first, last, is_answered)


@pytest.mark.parametrize(
    ("statements", "allowed"),
    [
        ([], {None}),
        ([told(1, 10, 20), told(2, 21, 30)], {2}),
        ([told(1, 21, 30), told(2, 10, 20)], {1}),
        ([told(1, 10, 25), told(2, 21, 30)], {1, 2}),
        ([told(1, 10, 20), told(2, 21, 30, is_answered=False)], {1, 2}),
        ([told(1, 21, 30), told(2, 10, 20, is_answered=False)], {1}),
        ([told(1, 10, 20, is_answered=False)], {None, 1}),
    ],
)
def test_the_newest_statement_counts_and_one_without_an_answer_may(
    statements: list[Statement], allowed: set[int | None]
) -> None:
    for value in (None, 1, 2):
        stored = {"value": None if value is None else Decimal128(Decimal(value))}
        assert wrong_fields(stored, statements) == ([] if value in allowed else ["value"])


def test_totals_are_those_of_each_status() -> None:
    stored: list[dict[str, Any]] = [
        {"value": Decimal128("9"), "refunded_value": Decimal128("2")},
        {"value": Decimal128("5"), "reported": "pending"},
        {"value": Decimal128("4"), "reported": "rejected", "refunded_value": Decimal128("1")},
        {"value": Decimal128("3"), "reported": "refunded"},
    ]
    assert totals(stored) == {
        "conversions": 1,
        "pendingConversions": 1,
        "rejectedConversions": 1,
        "value": 7,
        "pendingValue": 5,
        "refundedValue": 5,
    }


def test_what_is_right_under_faults_is_reported_and_is_none() -> None:
    run = Run()
    run.answer(8, 888, "order-5")
    run.clicks.append(click(20))
    run.ledger.cut |= {20, 21}
    run.receiver.received["/0", 504]["msg"] += 1
    assert run.result().faults() == []
    numbers = {one.name: one.number for one in run.result().figures}
    assert numbers["repeats answered with an id of their own"] == 1
    assert numbers["clicks stored without an answer"] == 1
    assert numbers["deliveries received again, with the same id"] == 1


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"figures": [Figure("old destinations", 1, is_fault=True)]}, ["1 old destinations"]),
        ({"held": ["7-0"]}, ["journal: 7-0"]),
        ({"other_answers": {"click 404": 5, "event 503": 2}}, ["5 answers click 404"]),
        ({"report_differences": ["clicks: 1"]}, ["report: clicks: 1"]),
    ],
)
def test_what_is_left_and_wrong_answers_are_faults(
    fields: dict[str, Any], expected: list[str]
) -> None:
    assert replace(Run().result(), **fields).faults() == expected


def test_every_tenth_new_message_is_refused_once() -> None:
    receiver = Receiver()
    taken = [receiver.accept("/0", f"msg_{n}", b'{"event":%d}' % n) for n in range(30)]
    assert taken.count(False) == 3
    assert all(receiver.accept("/0", one, b'{"event":99}') for one in sorted(receiver.refused))
