"""Rollups: the sums of clicks and events, for each day, of each link and of the whole account.

A document is

    {_id: {account_id, of: "account" | "link", day: "2026-01-31", link_id, slot},
     domain_name,                     of a link only
     total: CELL, device: {mobile: CELL, ...}, browser: {...}, os: {...}, country: {...},
     hour: {"09": CELL, ...}, event: {<event config>: CELL}, domain: {...} of the account only}

where a CELL has the measures that are not zero:

- `clicks` of people, `unique` (the first click of a visitor on the link and day), `bots` (clicks of
  bots and prefetches);
- `conversions`, `value` and `payout`, and of these `bot_conversions`, `bot_value` and `bot_payout`
  for clicks of bots;
- in `total` and `hour` also `changes`, how often an event was subtracted, and in `total`
  `corrections`, to which a recount adds a random number. They only grow: joint counts tell by them
  (`reports/marks`) that a figure moved from one value to another, which leaves the sums as they
  were.

`link_id` is null for the account, and for conversions without a click, whose other values are
`unknown`. A drain adds only to the documents of its slot, so that drains do not wait for each
other; a report adds the slots up.

Days and hours are those of a calendar. In UTC an account has the documents above. In any other zone
`of` ends with the name of the zone, such as `account Europe/Berlin`, and an hour is the number of
hours since its day began, up to "24" and more. While an account changes its zone it has the
documents of both. Pure: the drain writes the updates in the transaction that stores
what they count, and the recount computes the same sums from the stored documents.

Only this module decides what a click or an event adds. An event counts as soon as its account is
known. When its click arrives, the event is subtracted, and added again with the values of the click
(`add_event` with sign -1, then 1).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

from bson import Decimal128

from tracker.calendar import DEFAULT_ZONE, Calendar
from tracker.clicks import dimensions
from tracker.clicks.country import UNKNOWN
from tracker.conversions.document import COUNTED
from tracker.db.documents import as_read, owner_id, shared_id
from tracker.reports.field_names import encoded
from tracker.reports.limits import CACHED_DAYS, CACHED_PATHS
from tracker.reports.money import billionths, decimal_of_billionths, whole_number

_MONEY: Final = ("value", "payout")
"""The ends of the paths of amounts, which are in billionths here."""

_CLICKS: Final[tuple[str, ...]] = ("clicks",)
_UNIQUE: Final = ("clicks", "unique")
_BOTS: Final = ("bots",)
_CONVERSIONS: Final = ("conversions",)
_BOT_CONVERSIONS: Final = ("conversions", "bot_conversions")

CHANGES: Final = "changes"
CORRECTIONS: Final = "corrections"
_COUNTERS: Final = (CHANGES, CORRECTIONS)
"""The measures of cells that are no sums of clicks or events."""

_SUMMED: Final = frozenset(("total", "hour", "event", "domain", *dimensions.NAMES))
"""The fields of a document that hold cells."""

_visitor_values: Final = itemgetter(*dimensions.NAMES)


class RollupId(NamedTuple):
    """The `_id` of a document without its slot, in this order."""

    account_id: UUID
    of: str
    day: str
    link_id: UUID | None


Calendars = Mapping[bytes, Sequence[Calendar]]
"""The calendars that each account counts in, by its id; those that are missing count in UTC."""

_Day = int | tuple[int, str]
"""A day as its ordinal in UTC, with the name of the zone in others."""

_Values = tuple[int, tuple[str, ...]]
"""The hour, and the value of each visitor dimension."""

_GroupKey = tuple[bytes, _Day, _Values, str, tuple[str, ...], str]
"""Account, day, values, event configuration, measures, domain: all but the link."""

_Paths = tuple[tuple[str, ...], tuple[str, ...]]
"""The paths that a number is added to: in the document of a link, and in that of its account."""

Sums = dict[str, int]
"""Numbers by path in the document, such as `device.mobile.clicks`; money in billionths."""


class _Document:
    """The sums to add to one document.

    `id` is its `_id` without the slot; `domain_name` is that of a link, None for an account.
    """

    __slots__ = ("changes", "domain_name", "has_events", "id", "sums")

    def __init__(
        self, account_id: bytes, day: _Day, link_id: bytes | None, domain_name: str | None
    ) -> None:
        number, zone = (day, DEFAULT_ZONE) if isinstance(day, int) else day
        self.id = {
            "account_id": shared_id(account_id),
            "of": of_zone("account" if domain_name is None else "link", zone),
            "day": _day(number),
            "link_id": None if link_id is None else shared_id(link_id),
        }
        self.domain_name = domain_name
        self.has_events = False
        self.sums: defaultdict[str, int] = defaultdict(int)
        self.changes: defaultdict[str, int] = defaultdict(int)


class _Group:
    """A group of clicks or events that differ only in their links.

    Its `total` is added to the account's document once for all of them.
    """

    __slots__ = ("account", "account_paths", "link_paths", "total")

    def __init__(self, account: _Document, paths: _Paths) -> None:
        self.account = account
        self.link_paths, self.account_paths = paths
        self.total = 0


class Rollup:
    """A collector of clicks and events; `sums` and `updates` return what they add up to.

    It is called for every click, and written for speed: a click takes about 4 µs, and as long for
    each further calendar.
    """

    def __init__(self, calendars: Calendars | None = None) -> None:
        self._calendars = calendars or {}
        # Account and day are the key of an account's document, the link too of a link's.
        self._accounts: dict[tuple[bytes, _Day], _Document] = {}
        self._links: dict[tuple[bytes, _Day, bytes | None], _Document] = {}
        self._groups: dict[_GroupKey, _Group] = {}

    def add_click(self, click: Mapping[str, Any], count: int = 1) -> None:
        """Add a click's document, which may stand for `count` clicks."""
        measures: tuple[str, ...] = _BOTS
        if click["bot"] is None:
            measures = _UNIQUE if click["unique"] else _CLICKS
        at, link_id, domain_name = click["at"], click["link_id"], click["domain_name"]
        if not self._calendars:  # without a loop, because nearly every click is counted here
            values = (at.hour, _visitor_values(click))
            account_id, day = click["account_id"], at.toordinal()
            self._add(account_id, day, link_id, domain_name, values, "", measures, count)
            return
        for day, hour in self._hours(click):
            values = (hour, _visitor_values(click))
            self._add(click["account_id"], day, link_id, domain_name, values, "", measures, count)

    def add_event(self, event: Mapping[str, Any], sign: int = 1) -> None:
        """Add an event's document, or subtract it with sign -1, if it counts in its state."""
        if event["account_id"] is None or event["status"] not in COUNTED:
            return
        for day, hour in self._hours(event):
            self._add_event(event, day, hour, sign)

    def add_correction(self, document: Mapping[str, Any]) -> None:
        """Count that a value that rollups do not count by has changed in a click or an event."""
        for day, _ in self._hours(document):
            for one in self._documents_of(document, day):
                one.changes[f"total.{CORRECTIONS}"] += 1

    def _add_event(self, event: Mapping[str, Any], day: _Day, hour: int, sign: int) -> None:
        values = (hour, tuple(event.get(name, UNKNOWN) for name in dimensions.NAMES))
        place = (day, event.get("link_id"), event.get("domain_name", UNKNOWN))
        name = _config_name(event["event_config_id"])
        is_bot = event.get("bot") is not None
        if sign < 0:
            for document in self._documents_of(event, day):
                document.changes[f"total.{CHANGES}"] += 1
                document.changes[f"hour.{hour:02}.{CHANGES}"] += 1
        measures: tuple[str, ...] = _BOT_CONVERSIONS if is_bot else _CONVERSIONS
        self._add(event["account_id"], *place, values, name, measures, sign)
        for measure in _MONEY:
            if event[measure] is not None:
                money = sign * billionths(event[measure])
                measures = (measure, f"bot_{measure}") if is_bot else (measure,)
                self._add(event["account_id"], *place, values, name, measures, money)

    def _hours(self, source: Mapping[str, Any]) -> Sequence[tuple[_Day, int]]:
        """Return the day and the hour of a click or an event in each calendar of its account."""
        calendars = self._calendars.get(_as_bytes(source["account_id"]) or b"")
        at = source["at"]
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
        """Return the sums by document, without zeros. Ids are as they are read from MongoDB."""
        return {RollupId(**as_read(one.id)): sums for one, sums in self._added() if sums}

    def updates(self, slot: int) -> Iterator[dict[str, Any]]:
        """Yield statements of the `update` command for the documents of `slot`; 5 µs each."""
        for document, sums in self._added():
            added = increments(sums) if document.has_events else sums
            if document.changes:
                added = {**added, **document.changes}
            yield statement(document.id, slot, added, document.domain_name)

    def domain_names(self) -> dict[RollupId, str]:
        """Return the domain name of each link's document; it never changes."""
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
        values: _Values,
        event: str,
        measures: tuple[str, ...],
        number: int,
    ) -> None:
        if isinstance(account_id, UUID):
            account_id = account_id.bytes
        if isinstance(link_id, UUID):
            link_id = link_id.bytes
        key = (account_id, day, values, event, measures, domain_name)
        group = self._groups.get(key)
        if group is None:
            account = self._account(account_id, day)
            group = self._groups[key] = _Group(account, _paths(*key[2:]))
        of_link = self._links.get((account_id, day, link_id))
        if of_link is None:
            of_link = self._link(account_id, day, link_id, domain_name)
        group.total += number
        sums = of_link.sums
        for path in group.link_paths:
            sums[path] += number
        if event:
            of_link.has_events = group.account.has_events = True

    def _documents_of(self, source: Mapping[str, Any], day: _Day) -> tuple[_Document, _Document]:
        """Return the documents of the link and of the account that count a click or an event."""
        account_id = _as_bytes(source["account_id"])
        assert account_id is not None
        link_id, domain_name = source.get("link_id"), source.get("domain_name", UNKNOWN)
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

    def _added(self) -> Iterator[tuple[_Document, Sums]]:
        """Yield each document that changes, with its sums."""
        for account in self._accounts.values():
            account.sums = defaultdict(int)
        for group in self._groups.values():
            for path in group.account_paths:
                group.account.sums[path] += group.total
        for document in (*self._links.values(), *self._accounts.values()):
            sums = _without_zeros(document.sums)
            if sums or document.changes:
                yield document, sums


def of_zone(of: str, zone: str) -> str:
    """Return the field `of` of rollups in a zone, such as `account` or `link Europe/Berlin`."""
    return of if zone == DEFAULT_ZONE else f"{of} {zone}"


def statement(
    rollup_id: Mapping[str, Any],
    slot: int,
    added: Mapping[str, int | Decimal128],
    domain_name: str | None,
) -> dict[str, Any]:
    """Return a statement of the `update` command that adds to a document, or inserts it.

    `rollup_id` has the fields of a RollupId, `added` is from `increments`; `domain_name` is that of
    a link.
    """
    update: dict[str, Any] = {"$inc": added}
    if domain_name is not None:
        update["$setOnInsert"] = {"domain_name": domain_name}
    return {"q": {"_id": {**rollup_id, "slot": slot}}, "u": update, "upsert": True}


def increments(sums: Sums) -> Mapping[str, int | Decimal128]:
    """Return the sums as MongoDB adds them, with money as Decimal128."""
    money = [path for path in sums if path.endswith(_MONEY)]
    return {**sums, **{path: decimal_of_billionths(sums[path]) for path in money}}


def stored_sums(document: Mapping[str, Any]) -> Sums:
    """Return the sums in a stored document, without zeros or counters of changes.

    Fields of other releases are ignored.
    """
    sums: Sums = {}
    for name in _SUMMED & document.keys():
        field = document[name]
        cells = {name: field} if name == "total" else {f"{name}.{key}": field[key] for key in field}
        for path, cell in cells.items():
            sums |= {
                f"{path}.{measure}": whole_number(number)
                for measure, number in cell.items()
                if measure not in _COUNTERS
            }
    return _without_zeros(sums)


def _as_bytes(one: UUID | bytes | None) -> bytes | None:
    return one.bytes if isinstance(one, UUID) else one


def _config_name(config_id: UUID | bytes | None) -> str:
    if config_id is None:
        return "none"
    return str(owner_id(config_id) if isinstance(config_id, bytes) else config_id)


@lru_cache(maxsize=CACHED_PATHS)
def _paths(values: _Values, event: str, measures: tuple[str, ...], domain_name: str) -> _Paths:
    hour, visitor = values
    cells = ["total", f"hour.{hour:02}"]
    cells += [
        f"{name}.{encoded(value)}" for name, value in zip(dimensions.NAMES, visitor, strict=True)
    ]
    if event:
        cells.append(f"event.{event}")
    of_domain = f"domain.{encoded(domain_name)}"
    of_link = tuple(f"{cell}.{measure}" for cell in cells for measure in measures)
    return of_link, (*of_link, *(f"{of_domain}.{measure}" for measure in measures))


@lru_cache(maxsize=CACHED_DAYS)
def _day(number: int) -> str:
    """Return the day of a proleptic ordinal, as `2026-01-31`."""
    return date.fromordinal(number).isoformat()


def _without_zeros(sums: Sums) -> Sums:
    if all(sums.values()):
        return sums
    return {path: number for path, number in sums.items() if number}
