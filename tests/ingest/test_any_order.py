"""Whatever the order of clicks, reports and corrections: one result, and rollups that equal it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import Phase, example, given, seed, settings

from tests.conversions import scene
from tests.factories import AT_MS, make_click
from tests.ingest import ledger
from tests.ingest.any_order import (
    ACCOUNT,
    CLICKS,
    HOME,
    OF_CLICK,
    History,
    Sent,
    click_document,
    counted,
    expected_of,
    histories,
    shown,
)
from tracker.clicks.click import Click
from tracker.clock import now
from tracker.conversions.conversion import Conversion, Correction
from tracker.conversions.new_document import document
from tracker.ingest import plan
from tracker.ingest.planning.planned import StoredPart
from tracker.ingest.planning.rules import BatchRules
from tracker.ingest.planning.write_set import WriteSet
from tracker.reports.columns import FURTHER
from tracker.reports.rollups.rollup import Rollup
from tracker.service.services import Services

RULES = BatchRules(currencies={ACCOUNT: HOME})
EXAMPLES = 24


class Stored:
    """A database in memory, with the sums that the drain adds to it."""

    def __init__(self) -> None:
        self.clicks: dict[bytes, Any] = {}
        self.events: dict[int, Any] = {}
        self.rollup = Rollup()

    def apply(self, clicks: Sequence[Any], records: Sequence[Conversion | Correction]) -> None:
        events: dict[int, Any] = {}
        for one in records:
            if isinstance(one, Conversion):
                events.setdefault(one.id, document(one))
        corrections = [one for one in records if isinstance(one, Correction)]
        known = self.clicks | {one["_id"]: one for one in clicks}
        self._write(
            plan.batch_writes(
                clicks,
                events,
                known,
                self._part(),
                now(),
                RULES,
                corrections,
            )
        )
        pending = [
            one
            for one in self.events.values()
            if one["status"] == "pending" and one["click_id"] in self.clicks
        ]
        self._write(plan.settlement_writes(pending, self.clicks, self._part(), now(), RULES))

    def holder(self, key: str) -> int | None:
        return next(
            (
                one["_id"]
                for one in self.events.values()
                if one["transaction_id"] == key
                and one["account_id"] is not None
                and one["status"] != "duplicate"
            ),
            None,
        )

    def _part(self) -> StoredPart:
        return StoredPart.of(dict(self.events), self.clicks)

    def _write(self, writes: WriteSet) -> None:
        assert not writes.not_found
        for click in writes.clicks:
            self.clicks[click["_id"]] = click
            self.rollup.add_click(click)
        for event in writes.events:
            assert event["_id"] not in self.events
            self.rollup.add_event(event)
        self.events |= {one["_id"]: one for one in writes.events}
        for move in writes.moves:
            assert move.event is self.events[move.event["_id"]]
            if move.counts_again():
                self.rollup.add_event(move.event, -1)
                self.rollup.add_event(move.after)
            self.events[move.event["_id"]] = move.after
        scoped = [(one["transaction_scope"], one["transaction_id"]) for one in self.events.values()]
        assert len(scoped) == len(set(scoped))


def first_and_update_before_their_click() -> History:
    """Return one whose first report is taken in by an update, and repeated beside their click."""
    others = [Sent(key, number, 10, 10, {}, "first") for key, number in (("a", 1), ("bc", 101))]
    first = Sent(OF_CLICK, 201, 10, 10, {}, "first", CLICKS[2], knows_account=False)
    update = Sent(OF_CLICK, 202, 1, 10, {"value": "20"}, "update", CLICKS[2], knows_account=False)
    return [*others, first, update], [2], [[*others, update, first], [2, first]]


@given(histories())
@example(first_and_update_before_their_click())
@settings(max_examples=150)
def test_any_order_and_any_batches_leave_what_a_naive_model_has(
    history: History,
) -> None:
    sent, clicks, parts = history
    stored, waiting = Stored(), list[Sent]()
    for part in [*parts, [], []]:
        numbers = {one for one in part if isinstance(one, int)}
        records = [*waiting, *(one for one in part if not isinstance(one, int))]
        # A correction is one of a conversion that is stored.
        ready = [one for one in records if one.kind != "correction" or stored.holder(one.key)]
        waiting = [one for one in records if one not in ready]
        stored.apply(
            [click_document(one) for one in numbers],
            [one.record(stored.holder(one.key) or 0) for one in ready],
        )
    assert not waiting
    expected = expected_of(sent, clicks)
    events = [one for one in stored.events.values() if one["status"] != "duplicate"]
    assert {one["transaction_id"]: shown(one) for one in events} == expected
    assert len(events) == len(expected)
    assert stored.rollup.sums() == recounted(stored).sums()
    figures: Counter[str] = Counter()
    for one in expected.values():
        figures.update(counted(one))
    assert totals(stored) == {name: number for name, number in figures.items() if number}


def recounted(stored: Stored) -> Rollup:
    rollup = Rollup()
    for click in stored.clicks.values():
        rollup.add_click(click)
    for event in stored.events.values():
        rollup.add_event(event)
    return rollup


def totals(stored: Stored) -> Counter[str]:
    found: Counter[str] = Counter()
    for key, sums in stored.rollup.sums().items():
        if key.of == "account":
            for path, number in sums.items():
                cell, _, name = path.partition(".")
                if cell == "total" and name not in ("clicks", "unique", FURTHER):
                    is_money = name.endswith(("value", "payout"))
                    found[name] += number // 10**9 if is_money else number
    return found


def examples() -> list[History]:
    found: list[History] = []

    @seed(1)
    @settings(max_examples=EXAMPLES, phases=(Phase.generate,), database=None)
    @given(histories())
    def collect(one: History) -> None:
        found.append(one)

    collect()
    return found


class Copied:
    """An example with ids of its own, so that all share a database."""

    def __init__(self, services: Services, number: int) -> None:
        self._services, self._number = services, number
        self._clicks = [bytes([*one[:15], number]) for one in CLICKS]

    def key(self, key: str) -> str:
        return f"{key} {self._number}"

    async def records(self, part: Sequence[Sent | int]) -> list[Click | Conversion | Correction]:
        return [await self._record(one) for one in part]

    async def holder(self, key: str) -> dict[str, Any] | None:
        """Return the stored conversion with a key."""
        wanted = {"transaction_id": self.key(key), "account_id": UUID(bytes=ACCOUNT)}
        return await self._services.stores.mongodb["events"].find_one(
            {**wanted, "status": {"$ne": "duplicate"}}
        )

    async def _record(self, one: Sent | int) -> Click | Conversion | Correction:
        if isinstance(one, int):
            return make_click(UUID(bytes=ACCOUNT), id=self._clicks[one], at=AT_MS)
        number = 1000 * (self._number + 1) + one.number
        click = one.click and self._clicks[CLICKS.index(one.click)]
        holder = await self.holder(one.key) if one.kind == "correction" else None
        copied = one._replace(key=self.key(one.key), number=number, click=click)
        return copied.record(holder["_id"] if holder else 0)


@pytest.mark.redis
async def test_drains_leave_what_a_naive_model_has(services: Services) -> None:
    """Two drains at once apply what is no correction; a change of one makes the other plan anew."""
    accounts = services.stores.mongodb["accounts"]
    await accounts.insert_one({"_id": UUID(bytes=ACCOUNT), "name": "Acme", "currency": HOME})
    drains = [scene.drain_of(services) for _ in range(2)]
    for number, (sent, clicks, parts) in enumerate(examples()):
        copied = Copied(services, number)
        corrections = [one for one in sent if one.kind == "correction"]
        reports = [[one for one in part if one not in corrections] for part in parts]
        for pair in zip(reports[::2], [*reports[1::2], []], strict=False):
            batches = [await copied.records(part) for part in pair]
            await asyncio.gather(
                *(drain.apply(batch) for drain, batch in zip(drains, batches, strict=True))
            )
        await drains[0].apply(await copied.records(corrections[::-1]))
        await drains[1].apply(await copied.records([*reports[-1], *corrections]))
        found = {key: await copied.holder(key) for key in expected_of(sent, clicks)}
        assert {key: one and shown(one) for key, one in found.items()} == expected_of(sent, clicks)
    await ledger.check(services)
