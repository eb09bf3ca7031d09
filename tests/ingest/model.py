"""What batches must leave in MongoDB, naively: one record after another, and no drain dies."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from bson import Decimal128

from tests.conversions import scene
from tests.ingest import ledger
from tracker import visitor_dimensions
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.feeds import arrivals
from tracker.ingest.record import Record
from tracker.service.services import Services
from tracker.stores.mongodb.documents import as_read

Row = dict[str, Any]
COUNTED = ("pending", "no_click", "foreign_click", "attributed")
SOURCES = (
    "referrer_host",
    *(f"utm_{one}" for one in ["source", "medium", "campaign", "term", "content"]),
)
OF_CLICK = ("link_id", "domain_name", "bot", *visitor_dimensions.NAMES, *SOURCES, "parent_link_id")


class Model:
    """The documents after the batches so far. `webhooks` are by account."""

    def __init__(
        self, enrich: Callable[[Click], Mapping[str, Any]], webhooks: Mapping[UUID, Sequence[UUID]]
    ) -> None:
        self._enrich = enrich
        self.webhooks = webhooks
        self._rules: dict[UUID, Row] = {}
        self.clicks: dict[UUID, Row] = {}
        self.events: dict[int, Row] = {}
        self.deliveries: Counter[tuple[UUID, int]] = Counter()
        self.told_clicks: Counter[tuple[UUID, UUID]] = Counter()
        self.arrivals: Counter[tuple[Any, ...]] = Counter()
        self._visitors: set[tuple[Any, ...]] = set()

    def apply(self, records: Iterable[Record]) -> None:
        """Clicks are stored first, then events, and then pending events are joined by id.

        Last, stored clicks get the links of parents that came later.
        """
        records = list(records)
        clicks = {UUID(bytes=one.id): one for one in records if isinstance(one, Click)}
        new = clicks.keys() - self.clicks.keys()
        for click_id, click in clicks.items():
            if click_id in new:
                self._store_click(click)
        for click_id in new:
            self.clicks[click_id] |= self._of_parent(self.clicks[click_id])
        for event in records:
            if isinstance(event, Conversion):
                self._store_event(event)
        for event_id in sorted(self.events):
            self._join(self.events[event_id])
        for row in self.clicks.values():
            row |= self._of_parent(row)
        for row in self.events.values():
            self._join_parent(row)

    def claim(self, event: Conversion) -> None:
        """Store an event before its entry, while Redis is unavailable."""
        row = row_of(event) | {"status": "claimed"}
        if event.id not in self.events and self._has_transaction_id(row):
            self.events[event.id] = row

    def set_rules(self, account_id: UUID, rules: Row) -> None:
        self._rules[account_id] = self._rules.get(account_id, {}) | rules

    def let_an_hour_pass(self) -> None:
        """Webhooks are notified of pending events without their click."""
        for row in self.events.values():
            if row.get("tell_at"):
                row["tell_at"] = None
                self._deliver(row)

    def expire(self) -> None:
        """Delete the pending events whose account nobody knows."""
        self.events = {key: row for key, row in self.events.items() if "expires_at" not in row}

    def _store_click(self, click: Click) -> None:
        row = dict(as_read(self._enrich(click)))
        visitor = (click.link_id, click.at // (24 * 3600 * 1000), click.address, click.user_agent)
        is_first = visitor not in self._visitors
        if row["bot"] is None and not click.test:
            self._visitors.add(visitor)
        row["unique"] = row["bot"] is None and (click.test or is_first)
        self.clicks[row["_id"]] = row
        self.arrivals[row["account_id"], row["_id"]] += 1
        if row["bot"] is None and not click.test and row["account_id"] in self.webhooks:
            self.told_clicks[self.webhooks[row["account_id"]][-1], row["_id"]] += 1

    def _store_event(self, event: Conversion) -> None:
        before = self.events.get(event.id)
        if before is not None and before["status"] != "claimed":
            return
        row = row_of(event)
        after = joined(row, self.clicks.get(row["click_id"]))
        if not self._has_transaction_id(after):
            # It keeps the transaction id of its click, if it has that one.
            if after["transaction_scope"] == row["transaction_scope"]:
                return
            after = row | {"status": "duplicate"}
            if not self._has_transaction_id(after):
                return
        self._change(before, self._by_rules(after, event.checked))

    def _join(self, before: Row) -> None:
        click = self.clicks.get(before["click_id"])
        if before["status"] != "pending" or click is None:
            return
        after = joined(before, click)
        if not self._has_transaction_id(after):
            after = before | {"status": "duplicate"}
        elif before["account_id"] is None:
            after = self._by_rules(after, checked=False)
        self._change(before, after)

    def _of_parent(self, click: Row) -> Row:
        parent = self.clicks.get(click.get("parent_id", UUID(int=0)))
        if parent is None or parent["account_id"] != click["account_id"]:
            return {}
        is_older = (parent["at"], parent["_id"].int) < (click["at"], click["_id"].int)
        return {"parent_link_id": parent["link_id"]} if is_older else {}

    def _join_parent(self, event: Row) -> None:
        click = self.clicks.get(event["click_id"], {})
        lacks = "parent_link_id" in click and "parent_link_id" not in event
        if lacks and event["status"] in ("attributed", "test"):
            event["parent_link_id"] = click["parent_link_id"]
            self.arrivals[event["account_id"], event["_id"], event["status"], False] += 1

    def _has_transaction_id(self, row: Row) -> bool:
        """Return whether no other event has its transaction id in its scope."""
        wanted = row["transaction_scope"], row.get("transaction_id")
        return wanted[1] is None or not any(
            (one["transaction_scope"], one.get("transaction_id")) == wanted
            for one in self.events.values()
            if one["_id"] != row["_id"]
        )

    def _by_rules(self, row: Row, checked: bool) -> Row:
        rules = self._rules.get(row["account_id"], {})
        if row["status"] not in COUNTED:
            return row
        value = Decimal(0) if row["value"] is None else row["value"].to_decimal()
        broken = None
        if not checked and rules.get("require_pbk") and row["event_config_id"] is None:
            broken = "require_pbk"
        elif not checked and rules.get("no_negative_values") and value < 0:
            broken = "no_negative_values"
        elif not checked and value > (rules.get("max_value") or value):
            broken = "max_value"
        elif row["click_id"] and self._counted_beside(row) >= rules.get("max_per_click", 10**9):
            broken = "max_per_click"
        return row | {"status": "refused", "refused": broken} if broken else row

    def _counted_beside(self, row: Row) -> int:
        """Return how many other events of the click and the configuration count."""
        others = [one for one in self.events.values() if one["_id"] != row["_id"]]
        counted = [one for one in others if one["status"] in COUNTED and one["account_id"]]
        which = row["click_id"], row["event_config_id"]
        return [(one["click_id"], one["event_config_id"]) for one in counted].count(which)

    def _change(self, before: Row | None, row: Row) -> None:
        """Store an event's new state, with its arrival and its deliveries."""
        was_notified = before is not None and before.get("tell_at", 0) is None
        after = {name: row[name] for name in row if name not in ("tell_at", "expires_at")}
        if after["status"] == "pending":
            after["expires_at" if after["account_id"] is None else "tell_at"] = True
        elif after["status"] in COUNTED and not was_notified:
            self._deliver(after)
        self.events[after["_id"]] = after
        if after["account_id"] is not None:
            is_new = before is None or before["account_id"] is None or before["status"] == "claimed"
            self.arrivals[after["account_id"], after["_id"], after["status"], is_new] += 1

    def _deliver(self, row: Row) -> None:
        for webhook_id in self.webhooks.get(row["account_id"], ()):
            self.deliveries[webhook_id, row["_id"]] += 1

    async def check(self, services: Services) -> None:
        """Check that the database has what the model has, and rollups that equal it."""
        await self.check_documents(services)
        assert await _stored_arrivals(services) == self.arrivals

    async def check_documents(self, services: Services) -> None:
        """Check all but the states that events had in between, which depend on the order."""
        await ledger.check(services)
        clicks = await services.stores.mongodb["clicks"].find().to_list(None)
        assert {row["_id"]: _without(row, "stored_at") for row in clicks} == self.clicks
        events = await scene.stored_events(services)
        assert {row["_id"]: _with_flags(row) for row in events} == self.events
        assert Counter(await ledger.notified(services)) == self.deliveries
        assert Counter(await ledger.told_clicks(services)) == self.told_clicks
        arrived = await _stored_arrivals(services)
        # Repeated states may be told twice: with the click, and again with its parent.
        assert all(
            number == 1 or (one[-1] is False and number == 2) for one, number in arrived.items()
        )
        of_events = {(row["account_id"], key, row["status"]) for key, row in self.events.items()}
        lacking = of_events - {one[:3] for one in arrived}
        assert all(account is None or status == "claimed" for account, _, status in lacking)

    def replay(self, clicks: Sequence[Click], events: Sequence[Conversion], stored: Any) -> None:
        """Apply records in an order that explains what simultaneous drains have `stored`, by id.

        First clicks and events come first. A repeated transaction id may have been dropped.
        """
        ranks = {"refused": 1, "duplicate": 2}
        kept = [one for one in events if one.id in stored]
        assert all(one.transaction_id for one in events if one.id not in stored)
        self.apply([one for one in clicks if stored[UUID(bytes=one.id)]["unique"]])
        self.apply(clicks)
        for event in sorted(kept, key=lambda one: ranks.get(stored[one.id]["status"], 0)):
            self.apply([event])
            row = self.events.get(event.id, {})
            if row.get("status") == "refused" and "click_at" not in stored[event.id]:
                # Its cap was used up before its click came.
                self.events[event.id] = row_of(event) | {
                    one: row[one] for one in ("status", "refused")
                }


def row_of(event: Conversion) -> Row:
    """Return an event as it is stored without its click."""
    ids = ("account_id", "event_config_id", "click_id", "transaction_scope")
    amounts = {name: getattr(event, name) for name in ("value", "payout")}
    row: Row = {name: _id(getattr(event, name)) for name in ids}
    row |= {name: text and Decimal128(text) for name, text in amounts.items()}
    row |= {"_id": event.id, "at": datetime.fromtimestamp(event.at / 1000, UTC)}
    row |= {"metadata": event.metadata, "status": "pending" if event.click_id else "no_click"}
    if event.test:
        row["status"] = "test"
    if event.transaction_id is not None:
        row["transaction_id"] = event.transaction_id
    return row


def joined(row: Row, click: Row | None) -> Row:
    """Return an event with the data of its click, if that is stored."""
    if click is None:
        return row
    if row["account_id"] not in (None, click["account_id"]):
        return row | {"status": "foreign_click"}
    after = row | {name: click[name] for name in OF_CLICK if name in click}
    after |= {"account_id": click["account_id"], "click_at": click["at"]}
    if row["transaction_scope"] == row["click_id"]:
        after["transaction_scope"] = click["account_id"]
    is_test = row["status"] == "test" or "test" in click
    return after | {"status": "test" if is_test else "attributed"}


def _without(row: Row, *names: str) -> Row:
    return {name: row[name] for name in row if name not in names}


def _with_flags(row: Row) -> Row:
    """Return an event whose dates in the future are only marked."""
    marked = {name: row[name] and True for name in ("tell_at", "expires_at") if name in row}
    return row | marked


async def _stored_arrivals(services: Services) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    async for row in services.stores.mongodb["arrivals"].find():
        account_id = row["_id"]["account_id"]
        if row["_id"]["feed"] == "clicks":
            found.update(
                (account_id, UUID(bytes=one)) for one in arrivals.click_ids(row["entries"])
            )
            continue
        entries = arrivals.conversion_entries(row["entries"])
        new = len(entries) - row.get("repeated", 0)
        found.update((account_id, *one, at < new) for at, one in enumerate(entries))
    return found


def _id(found: bytes | None) -> UUID | None:
    return None if found is None else UUID(bytes=found)
