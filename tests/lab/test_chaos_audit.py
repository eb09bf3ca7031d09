"""The audit at the end of `make chaos` finds every kind of fault."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest
from bson import Decimal128

from lab.chaos.audit import Audit, Findings, Receiver
from lab.chaos.result import Result, Undrained, Waits
from lab.chaos.traffic import Ledger, Request
from tests.factories import Document, make_click_document, make_event_document

ACCOUNT, LINK, CONFIG = UUID(int=1), UUID(int=2), UUID(int=3)


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


class Run:
    """Three clicks and two events, answered, stored and counted; then something is changed."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.clicks = [click(1), click(2), click(3, bot="crawler", unique=False)]
        self.events = [event(4), event(5, transaction_id="order-5")]
        for number in (1, 2, 3):
            self.ledger.add_click(Request(True, number, None, b""), UUID(int=1000 + number))
        self.answer(4, 504)
        self.answer(5, 505, "order-5")

    def answer(self, number: int, event_id: int, transaction: str | None = None) -> None:
        self.ledger.add_event(Request(False, number, transaction, b""), event_id, "found")

    def audited(self) -> Audit:
        audit = Audit()
        for row in self.clicks:
            audit.add_click(row)
        for row in self.events:
            audit.add_event(row)
        return audit

    def findings(self) -> Findings:
        return self.audited().findings(self.ledger, {}, Receiver())


def result(findings: Findings, **fields: Any) -> Result:
    plain = Result(
        seed=1,
        seconds=2.0,
        disturbances={"kill web": 1},
        findings=findings,
        left=Undrained(),
        waits=Waits(p99=0.1, longest=0.2, longest_web_running=0.1),
        cut=0,
        refused=0,
        other_answers={},
        differences=0,
        report_differences=[],
        ended_by_themselves=[],
    )
    return msgspec.structs.replace(plain, **fields)


def faults(run: Run) -> list[str]:
    return result(run.findings()).faults()


def test_a_run_without_faults_has_no_findings() -> None:
    run = Run()
    assert faults(run) == []
    assert run.audited().report_totals() == {"clicks": 3, "uniqueClicks": 2, "conversions": 2}


def test_a_spool_that_was_removed_without_an_error_in_the_log_is_a_fault() -> None:
    found = result(Run().findings(), unlogged_removals=1).faults()
    assert found == ["1 removed spools without an error in the log"]


def lose_a_click(run: Run) -> None:
    del run.clicks[0]


def store_another_click_under_the_id(run: Run) -> None:
    run.clicks[0] = click(9, _id=run.clicks[0]["_id"])


def double_a_click(run: Run) -> None:
    run.clicks.append(click(1, _id=UUID(int=77), unique=False))


def count_a_visitor_twice(run: Run) -> None:
    run.clicks.append(click(9, address="81.2.1.7"))


def count_a_visitor_never(run: Run) -> None:
    run.clicks[0]["unique"] = False


def lose_an_event(run: Run) -> None:
    del run.events[0]


def leave_an_event_claimed(run: Run) -> None:
    run.events[1]["status"] = "claimed"


def double_an_event(run: Run) -> None:
    run.events.append(event(4, _id=600))


def count_a_transaction_twice(run: Run) -> None:
    run.events.append(event(6, transaction_id="order-5"))


def give_an_id_twice(run: Run) -> None:
    run.answer(7, 504)


def leave_an_event_pending(run: Run) -> None:
    run.events[0] |= {"status": "pending", "click_id": run.clicks[0]["_id"]}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lose_a_click, ["1 clicks lost"]),
        (store_another_click_under_the_id, ["1 clicks lost"]),
        (double_a_click, ["1 clicks doubled"]),
        (count_a_visitor_twice, ["1 visitors not counted once"]),
        (count_a_visitor_never, ["1 visitors not counted once"]),
        (lose_an_event, ["1 events lost"]),
        (leave_an_event_claimed, ["1 events lost"]),
        (double_an_event, ["1 events doubled"]),
        (count_a_transaction_twice, ["1 events doubled"]),
        (give_an_id_twice, ["1 events lost", "1 event ids given twice"]),
        (leave_an_event_pending, ["1 events left pending although their click is stored"]),
    ],
)
def test_a_fault_is_found(change: Callable[[Run], None], expected: list[str]) -> None:
    run = Run()
    change(run)
    assert faults(run) == expected


def test_repeats_of_a_transaction_may_have_ids_of_their_own_and_are_reported() -> None:
    run = Run()
    run.answer(8, 888, "order-5")
    assert faults(run) == []
    assert run.findings().events.other_ids == 1


def test_a_click_without_an_answer_may_be_stored() -> None:
    run = Run()
    run.clicks.append(click(20))
    run.ledger.cut.add(20)
    run.ledger.cut.add(21)
    assert faults(run) == []
    assert run.findings().clicks.cut_stored == 1


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"left": Undrained(journal=2)}, ["2 journal entries not drained"]),
        (
            {"left": Undrained(journal=1, entries=["7-0"])},
            ["1 journal entries not drained", "journal: 7-0"],
        ),
        ({"left": Undrained(spool_files=1)}, ["1 spool files not replayed"]),
        ({"left": Undrained(dead_letters=3)}, ["3 dead letters"]),
        ({"other_answers": {"click 404": 5, "event 503": 2}}, ["5 answers click 404"]),
        (
            {"differences": 2},
            ["2 figures of rollups and reports differ from the documents"],
        ),
        ({"report_differences": ["clicks: 1"]}, ["report: clicks: 1"]),
    ],
)
def test_undrained_entries_and_wrong_answers_are_faults(
    fields: dict[str, Any], expected: list[str]
) -> None:
    ended = result(Run().findings(), **fields)
    assert ended.faults() == expected
    assert f"FAULT: {expected[0]}" in ended.table()
