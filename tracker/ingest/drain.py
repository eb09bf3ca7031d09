"""The drain: applies journal records to MongoDB, counts them, and joins clicks and events.

Every step may run again after a crash; `ingest/batch_writer` keeps anything from counting twice.
Clicks and events are stored before either looks for the other. So the later one finds the earlier,
in whatever process.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta

import structlog

from tracker.clicks.click import Click
from tracker.clicks.document import PARENT_LINK, ClickDocument
from tracker.clicks.services import ClickServices
from tracker.clock import moment, now
from tracker.conversions.append import release_claims
from tracker.conversions.conversion import Conversion, Correction
from tracker.conversions.document import (
    CLICK_FIELDS,
    Attribution,
    ConversionDocument,
    click_and_config,
)
from tracker.conversions.new_document import documents_by_id
from tracker.conversions.services import ConversionServices
from tracker.ingest import plan
from tracker.ingest.batch_writer import BatchWriter
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.joins.parents import Parents
from tracker.ingest.plan import account_of
from tracker.ingest.planning.planned import NOTHING_STORED, StoredPart, clicks_of
from tracker.ingest.planning.rules import BatchRules
from tracker.ingest.planning.write_set import WriteConflict, WriteSet
from tracker.ingest.record import Record
from tracker.journal.backlog import Backlog
from tracker.links.lists.last_clicks import LastClicks
from tracker.loops import cancel_and_wait
from tracker.metrics import CONVERSIONS_REFUSED, CORRECTIONS_DROPPED, DRAINED
from tracker.reports.joint_counts.due_accounts import StoredTally
from tracker.stores.services import StoreServices
from tracker.webhooks.queue import DeliveryQueue

log = structlog.get_logger(__name__)

_RECORDS_PER_TURN = 200
"""Clicks enriched (about 2 µs each) before waiting requests are served."""

_MAX_PLANS = 5
"""Attempts at one batch. Each write conflict with another drain takes one."""

_BEHIND_MS = 60_000
"""Age of the oldest entry above which the journal may still contain overdue clicks."""

ClicksById = Mapping[bytes, ClickDocument]


class Drain:
    """One drain. Pending events without an account expire after `pending_event_days` (0: never)."""

    def __init__(
        self,
        stores: StoreServices,
        drain_number: DrainNumber,
        clicks: ClickServices,
        conversions: ConversionServices,
        queue: DeliveryQueue,
        pending_event_days: int,
        partitions: int,
    ) -> None:
        self._redis = stores.redis
        self._partitions = partitions
        self._backlog = Backlog(stores.redis)
        self._clicks = clicks.clicks
        self._events = conversions.store
        self._rules = conversions.account_rules
        self._enrichment = clicks.enrichment
        self._visitors = clicks.visitors
        self._pending_ttl = timedelta(days=pending_event_days) if pending_event_days else None
        self._writer = BatchWriter(stores.mongodb, drain_number, queue)
        self._parents = Parents(self._clicks, self._events, self._writer.write)
        self.stored = StoredTally()
        self.last_clicks = LastClicks(stores.mongodb)

    async def apply(self, records: Sequence[Record]) -> None:
        """Store and count the records; stored ones change nothing. `ingest/faults` sorts errors."""
        clicks = {one.id: one for one in records if isinstance(one, Click)}
        events = [one for one in records if isinstance(one, Conversion)]
        corrections = [one for one in records if isinstance(one, Correction)]
        documents = await self._documents(list(clicks.values()))
        children = await self._parents.look_up(documents)
        arrived = await documents_by_id(events)
        checked = {one.id for one in events if one.checked}
        write_set, of_events = await self._store(documents, arrived, checked, corrections)
        # The drain that stored a joined event's click has joined the other events of the click.
        joined = {one["_id"] for one in write_set.events if one["status"] != Attribution.PENDING}
        named = clicks_of(arrived[one] for one in arrived.keys() - joined)
        # Only stored clicks: any number of events may repeat the same wrong click id.
        others = [one for one in named if one not in documents]
        stored = await self._clicks.find(others, ["parent_id"])
        # The ids in the documents already have the driver's type.
        own = [one["_id"] for one in documents.values()]
        awaited = await self._events.awaited([*own, *stored])
        await self._settle(awaited.by_conversions)
        children |= {
            key
            for key, one in (of_events | stored).items()
            if "parent_id" in one and PARENT_LINK not in one  # else the conversion has copied it
        }
        await self._parents.join(awaited.by_children, children, write_set.clicks)
        await release_claims(self._redis, events, self._partitions)

    async def notify_overdue(self) -> int:
        """Notify webhooks of events whose clicks are late. Return the number of overdue events.

        Return 0 while the journal is behind, because it may contain the clicks.
        """
        events = await self._events.overdue(now())
        # Only now, because nearly always there is none. The write fails if an event's click is
        # stored meanwhile.
        if not events or (await self._backlog.measure()).oldest_ms > _BEHIND_MS:
            return 0
        try:
            await self._writer.write(plan.overdue_writes(events))
        except WriteConflict:
            log.debug("another drain was first", events=len(events))
        return len(events)

    async def _documents(self, clicks: Sequence[Click]) -> ClicksById:
        """Return documents by id. The next clicks are enriched while Redis looks up visitors."""
        documents: dict[bytes, ClickDocument] = {}
        newest = moment(max((one.at for one in clicks), default=0))
        accounts = {one.account_id for one in clicks}
        calendars = await self._writer.calendars.get(accounts, newest)
        parameters = self._writer.calendars.parameters
        stored_at = now()
        look_up = None
        try:
            for start in range(0, len(clicks), _RECORDS_PER_TURN):
                by_people = []
                for click in clicks[start : start + _RECORDS_PER_TURN]:
                    made = documents[click.id] = self._enrichment.document(
                        click, parameters.get(click.account_id)
                    )
                    made["stored_at"] = stored_at
                    if made["bot"] is None:
                        if click.test:
                            made["unique"] = True  # Every test counts as a visitor of its own.
                        else:
                            by_people.append(click)
                if look_up is not None:
                    _set_unique(documents, await look_up)
                look_up = asyncio.create_task(self._visitors.first_clicks(by_people, calendars))
                await asyncio.sleep(0)
            if look_up is not None:
                _set_unique(documents, await look_up)
        finally:
            if look_up is not None:
                await cancel_and_wait(look_up)
        return documents

    async def _store(
        self,
        clicks: ClicksById,
        events: Mapping[int, ConversionDocument],
        checked: Collection[int],
        corrections: Sequence[Correction],
    ) -> tuple[WriteSet, dict[bytes, ClickDocument]]:
        """Return what was stored, and the clicks of the conversions in it."""
        named = clicks_of(events.values())
        clicks_of_events = {one: clicks[one] for one in named if one in clicks}
        clicks_of_events |= await self._clicks.find(named, CLICK_FIELDS)
        stored_part = await self._stored_part(events, clicks_of_events, corrections)
        for _ in range(_MAX_PLANS):
            if stored_part.events:
                others = clicks_of(stored_part.events.values()) - clicks_of_events.keys()
                clicks_of_events |= {one: clicks[one] for one in others if one in clicks}
                clicks_of_events |= await self._clicks.find(others, CLICK_FIELDS)
            batch_rules = await self._batch_rules(
                events.values(), clicks_of_events, checked, stored_part
            )
            also = (stored_part, now(), batch_rules, corrections)
            write_set = plan.batch_writes(clicks.values(), events, clicks_of_events, *also)
            try:
                await self._writer.write(write_set)
            except WriteConflict:
                stored_part = await self._stored_part(events, clicks_of_events, corrections, clicks)
                clicks_of_events |= await self._clicks.find(clicks_of_events, CLICK_FIELDS)
            else:
                await self._count(write_set)
                return write_set, clicks_of_events
        raise WriteConflict

    async def _count(self, stored: WriteSet) -> None:
        DRAINED.labels("click").inc(len(stored.clicks))
        DRAINED.labels("event").inc(len(stored.events))
        self.stored.add(stored.new_of_accounts())
        await self.last_clicks.add(stored.clicks)
        _count_refused(stored.events)
        if stored.not_found:
            CORRECTIONS_DROPPED.inc(len(stored.not_found))
            log.warning("conversions to correct are not stored", number=len(stored.not_found))

    async def _batch_rules(
        self,
        events: Collection[ConversionDocument],
        clicks: ClicksById,
        checked: Collection[int] = (),
        stored_part: StoredPart = NOTHING_STORED,
    ) -> BatchRules:
        """Return the rules and the used caps, as far as events may break them."""
        accounts = {
            account_id
            for one in events
            # A checked one can only break the cap of its click.
            if one["click_id"] is not None or one["_id"] not in checked
            if (account_id := account_of(one, clicks)) is not None
        }
        rules = await self._rules.set_by(accounts)
        capped = {one for one in rules if rules[one].max_per_click is not None}
        capped_events = [one for one in events if account_of(one, clicks) in capped]
        wanted = {which for one in capped_events if (which := click_and_config(one))}
        others = await self._events.counted(wanted, [one["_id"] for one in capped_events])
        with_currency = [one for one in events if "currency" in one]
        restated = (*with_currency, *stored_part.events.values())
        owners = {owner for one in restated if (owner := account_of(one, clicks)) is not None}
        currencies = await self._rules.currencies(owners)
        return BatchRules(rules, currencies, others, checked, self._pending_ttl)

    async def _stored_part(
        self,
        events: Mapping[int, ConversionDocument],
        clicks_of_events: ClicksById,
        corrections: Sequence[Correction],
        clicks: ClicksById | None = None,
    ) -> StoredPart:
        """Return what is stored of a batch; without `clicks` only what it may restate.

        A first plan without that would be in vain.
        """
        some = list(events.values())
        if clicks is None:
            some = [one for one in some if "restates" in one.get("report", ())]
        wanted = plan.transactions_of(some, clicks_of_events)
        ids = [*(() if clicks is None else events), *(one.event_id for one in corrections)]
        stored = await self._clicks.find(clicks or (), ["_id"])
        return StoredPart.of(await self._events.stored_or_holding(ids, wanted), stored)

    async def _settle(self, click_ids: Collection[bytes]) -> None:
        """Join the pending events of these stored clicks."""
        last = 0
        while pending := await self._events.pending(click_ids, after=last):
            clicks = await self._clicks.find(clicks_of(pending), CLICK_FIELDS)
            await self._move(pending, clicks)
            last = pending[-1]["_id"]

    async def _move(self, pending: Sequence[ConversionDocument], clicks: ClicksById) -> None:
        stored_part = NOTHING_STORED
        for _ in range(_MAX_PLANS):
            without_account = [one for one in pending if one["account_id"] is None]
            batch_rules = await self._batch_rules(without_account, clicks, (), stored_part)
            write_set = plan.settlement_writes(pending, clicks, stored_part, now(), batch_rules)
            try:
                await self._writer.write(write_set)
            except WriteConflict:
                still = await self._events.stored([one["_id"] for one in pending])
                pending = [one for one in still.values() if one["status"] == Attribution.PENDING]
                wanted = plan.transactions_of(pending, clicks)
                found = await self._events.stored_or_holding((), wanted)
                stored_part = StoredPart.of(found)
                others = await self._clicks.find(clicks_of(found.values()), CLICK_FIELDS)
                clicks = {**others, **clicks}
            else:
                _count_refused(one.after for one in write_set.moves)
                return
        raise WriteConflict


def _count_refused(events: Iterable[ConversionDocument]) -> None:
    for event in events:
        if "refused" in event:
            CONVERSIONS_REFUSED.labels(event["refused"]).inc()


def _set_unique(documents: Mapping[bytes, ClickDocument], unique: Collection[bytes]) -> None:
    for click_id in unique:
        documents[click_id]["unique"] = True
