"""The sums that clicks and events add to rollups (`reports/rollups/layout`). Pure.

Drains write them in the transaction that stores the documents. The recount computes them from the
stored documents.

An event counts as soon as its account is known. When its click arrives, the event is subtracted
(`add_event` with sign -1), and added again with the click's values.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from tracker import visitor_dimensions
from tracker.calendar import DEFAULT_ZONE, Calendar
from tracker.conversions.document import COUNTED
from tracker.reports.limits import CACHED_DAYS
from tracker.reports.rollups.cell_counts import DocumentKey
from tracker.reports.rollups.layout import (
    CHANGES,
    MONEY,
    RollupId,
    Sums,
    Values,
    cells_of,
    config_name,
    domain_cell,
    event_cell,
    of_zone,
    with_domain,
)
from tracker.reports.rollups.money import billionths
from tracker.reports.rollups.parts import divided
from tracker.reports.rollups.upsert import Addition, Upsert
from tracker.stores.mongodb.documents import as_read, shared_id
from tracker.visitor_dimensions import UNKNOWN

_CLICKS: Final[tuple[str, ...]] = ("clicks",)
_UNIQUE: Final = ("clicks", "unique")
_BOTS: Final = ("bots",)
_CONVERSIONS: Final = ("conversions",)
_BOT_CONVERSIONS: Final = ("conversions", "bot_conversions")

_visitor_values: Final = itemgetter(*visitor_dimensions.NAMES)

Calendars = Mapping[bytes, Sequence[Calendar]]
"""The calendars of each account, by its id; UTC for missing ones."""

_Day = int | tuple[int, str]
"""A day as its ordinal in UTC, and in other zones with the zone's name."""

_GroupKey = tuple[bytes, _Day, Values, str, tuple[str, ...]]
"""Account, day, values, event configuration, measures: all but the link and its domain."""


class _Document:
    """What is added to one document, by group. `domain_name` is None for an account."""

    __slots__ = ("added", "changes", "domain_name", "id")

    def __init__(
        self, account_id: bytes, day: _Day, link_id: bytes | None, domain_name: str | None
    ) -> None:
        number, zone = (day, DEFAULT_ZONE) if isinstance(day, int) else day
        self.id: dict[str, Any] = {
            "account_id": shared_id(account_id),
            "of": of_zone("account" if domain_name is None else "link", zone),
            "day": _day(number),
            "link_id": None if link_id is None else shared_id(link_id),
        }
        self.domain_name = domain_name
        self.added: dict[_Group, int] = {}
        # Most have none: a batch of many accounts makes tens of thousands of these objects.
        self.changes: dict[str, int] | None = None

    def count_change(self, hour: int) -> None:
        if self.changes is None:
            self.changes = {}
        for path in (f"total.{CHANGES}", f"hour.{hour:02}.{CHANGES}"):
            self.changes[path] = self.changes.get(path, 0) + 1

    def key(self) -> DocumentKey:
        return self.id["account_id"], self.id["of"], self.id["day"], self.id["link_id"]

    def upsert(self, document_id: Mapping[str, Any]) -> Upsert:
        additions = []
        own_cells: defaultdict[tuple[str, tuple[str, ...]], int] = defaultdict(int)
        for group, number in self.added.items():
            cells, domains = group.cells, group.by_domain
            if self.domain_name is None and len(domains) == 1:
                cells = with_domain(cells, *domains)
            elif self.domain_name is None:
                for name, of_domain in domains.items():
                    own_cells[domain_cell(name), group.measures] += of_domain
            if group.event:
                own_cells[event_cell(group.event), group.measures] += number
            additions.append(Addition(cells, group.measures, number))
        return Upsert(document_id, self.domain_name, additions, own_cells, self.changes or {})


class _Group:
    """Clicks or events that differ only in their links.

    They are added to the account's document once, for each domain. They do not refer to it: only
    garbage collection would free such circles.
    """

    __slots__ = ("by_domain", "cells", "event", "measures")

    def __init__(self, cells: tuple[str, ...], event: str, measures: tuple[str, ...]) -> None:
        self.cells = cells
        self.event = event
        self.measures = measures
        self.by_domain: dict[str, int] = {}


class Rollup:
    """A collector of clicks and events. A click takes about 4 µs for each calendar."""

    def __init__(self, calendars: Calendars | None = None) -> None:
        self._calendars = calendars or {}
        # Keys are account and day; links add their id.
        self._accounts: dict[tuple[bytes, _Day], _Document] = {}
        self._links: dict[tuple[bytes, _Day, bytes | None], _Document] = {}
        self._groups: dict[_GroupKey, _Group] = {}
        self._has_events = False

    def add_click(self, click: Mapping[str, Any], count: int = 1) -> None:
        """Add a click `count` times, unless it is a test."""
        if "test" in click:
            return
        measures: tuple[str, ...] = _BOTS
        if click["bot"] is None:
            measures = _UNIQUE if click["unique"] else _CLICKS
        at, link_id, domain_name = click["at"], click["link_id"], click["domain_name"]
        try:
            visitor = _visitor_values(click)
        except KeyError:  # it was stored before there was the newest dimension
            visitor = visitor_dimensions.values_in(click)
        if not self._calendars:  # without a loop, because nearly every click is counted here
            values = (at.hour, visitor)
            account_id, day = click["account_id"], at.toordinal()
            self._add(account_id, day, link_id, domain_name, values, "", measures, count)
            return
        for day, hour in self._hours(click):
            values = (hour, visitor)
            self._add(click["account_id"], day, link_id, domain_name, values, "", measures, count)

    def add_event(self, event: Mapping[str, Any], sign: int = 1) -> None:
        """Add an event, or subtract it with sign -1, if its status counts."""
        if event["account_id"] is None or event["status"] not in COUNTED:
            return
        for day, hour in self._hours(event):
            self._add_event(event, day, hour, sign)

    def _add_event(self, event: Mapping[str, Any], day: _Day, hour: int, sign: int) -> None:
        values = (hour, visitor_dimensions.values_in(event))
        account_id, link_id = event["account_id"], event.get("link_id")
        domain_name = event.get("domain_name", UNKNOWN)
        name = config_name(event["event_config_id"])
        is_bot = event.get("bot") is not None
        if sign < 0:
            for document in self._documents_of(event, day):
                document.count_change(hour)
        measures: tuple[str, ...] = _BOT_CONVERSIONS if is_bot else _CONVERSIONS
        self._add(account_id, day, link_id, domain_name, values, name, measures, sign)
        for measure in MONEY:
            if event[measure] is not None:
                money = sign * billionths(event[measure])
                measures = (measure, f"bot_{measure}") if is_bot else (measure,)
                self._add(account_id, day, link_id, domain_name, values, name, measures, money)

    def _hours(self, document: Mapping[str, Any]) -> Sequence[tuple[_Day, int]]:
        """Return the day and the hour in each calendar of the account."""
        calendars = self._calendars.get(_as_bytes(document["account_id"]) or b"")
        at = document["at"]
        if calendars is None:
            return ((at.toordinal(), at.hour),)
        found = []
        for calendar in calendars:
            day, hour = calendar.day_and_hour(at)
            number = day.toordinal()
            found.append(
                (number if calendar.zone == DEFAULT_ZONE else (number, calendar.zone), hour)
            )
        return found

    def sums(self) -> dict[RollupId, Sums]:
        """Return the sums by document, without zeros."""
        found = {RollupId(**as_read(one.id)): one.upsert(one.id).sums() for one in self._added()}
        return {rollup_id: sums for rollup_id, sums in found.items() if sums}

    def cells(self) -> dict[DocumentKey, int]:
        """Return the number of unlimited cells that are added to, of each document with any."""
        names: defaultdict[_Document, set[str]] = defaultdict(set)
        for key, group in self._groups.items():
            names[self._accounts[key[:2]]].update((group.event, *group.by_domain))
        if self._has_events:
            for document in self._links.values():
                names[document] = {group.event for group in document.added}
        counts = ((document, len(found - {""})) for document, found in names.items())
        return {document.key(): count for document, count in counts if count}

    def upserts(self, drain_number: int, full: Collection[DocumentKey] = ()) -> Iterator[Upsert]:
        """Yield what is added to each of a drain's documents; those in `full` are divided."""
        for document in self._added():
            upsert = document.upsert({**document.id, "slot": drain_number})
            if full and document.key() in full:
                for number, added in divided(upsert.increments(), drain_number).items():
                    part_id = {**document.id, "slot": number}
                    yield Upsert(part_id, document.domain_name, others=added)
            else:
                yield upsert

    def updates(self, drain_number: int) -> Iterator[dict[str, Any]]:
        """Yield the statements of the `update` command, for documents that are stored or not."""
        return (one.statement() for one in self.upserts(drain_number))

    def domain_names(self) -> dict[RollupId, str]:
        return {
            RollupId(**as_read(one.id)): one.domain_name
            for one in self._links.values()
            if one.domain_name is not None
        }

    def _add(
        self,
        account_id: UUID | bytes,
        day: _Day,
        link_id: UUID | bytes | None,
        domain_name: str,
        values: Values,
        event: str,
        measures: tuple[str, ...],
        number: int,
    ) -> None:
        if isinstance(account_id, UUID):
            account_id = account_id.bytes
        if isinstance(link_id, UUID):
            link_id = link_id.bytes
        key = (account_id, day, values, event, measures)
        group = self._groups.get(key)
        if group is None:
            self._account(account_id, day)
            group = self._groups[key] = _Group(cells_of(values), event, measures)
        of_link = self._links.get((account_id, day, link_id))
        if of_link is None:
            of_link = self._link(account_id, day, link_id, domain_name)
        by_domain, by_group = group.by_domain, of_link.added
        by_domain[domain_name] = by_domain.get(domain_name, 0) + number
        by_group[group] = by_group.get(group, 0) + number
        if event:
            self._has_events = True

    def _documents_of(self, document: Mapping[str, Any], day: _Day) -> tuple[_Document, _Document]:
        account_id = _as_bytes(document["account_id"])
        assert account_id is not None
        link_id, domain_name = document.get("link_id"), document.get("domain_name", UNKNOWN)
        of_link = self._link(account_id, day, _as_bytes(link_id), domain_name)
        return of_link, self._account(account_id, day)

    def _link(
        self, account_id: bytes, day: _Day, link_id: bytes | None, domain_name: str
    ) -> _Document:
        key = (account_id, day, link_id)
        if key not in self._links:
            self._links[key] = _Document(account_id, day, link_id, domain_name)
        return self._links[key]

    def _account(self, account_id: bytes, day: _Day) -> _Document:
        found = self._accounts.get((account_id, day))
        if found is None:
            found = self._accounts[account_id, day] = _Document(account_id, day, None, None)
        return found

    def _added(self) -> Iterator[_Document]:
        """Yield each document that changes."""
        for account in self._accounts.values():
            account.added = {}
        for key, group in self._groups.items():
            self._accounts[key[:2]].added[group] = sum(group.by_domain.values())
        for document in (*self._links.values(), *self._accounts.values()):
            if document.changes or any(document.added.values()):
                yield document


def _as_bytes(one: UUID | bytes | None) -> bytes | None:
    return one.bytes if isinstance(one, UUID) else one


@lru_cache(maxsize=CACHED_DAYS)
def _day(number: int) -> str:
    """Return the ISO date of a proleptic ordinal."""
    return date.fromordinal(number).isoformat()
