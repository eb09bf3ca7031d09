"""The layout of rollups: the sums of each day, of each link and of the whole account. Pure.

A document is

    {_id: {account_id, of: "account" | "link", day: "2026-01-31", link_id, <DRAIN_NUMBER>},
     domain_name,                     of a link only
     total: CELL, device: {mobile: CELL, ...}, browser: {...}, os: {...}, country: {...},
     hour: {"09": CELL, ...}, event: {<event config>: CELL}, domain: {...} of the account only}

where a CELL has the measures that are not zero:

- `clicks` of people, `unique` (the first click of a visitor on the link and day), `bots` (clicks of
  bots and prefetches);
- `conversions`, `value` and `payout` of approved conversions, less `refunded_value`;
- `pending_conversions`, `pending_value`, `rejected_conversions` and `refunded_conversions`;
- of conversions in another currency than the account's, in any status, `other_conversions`; of
  approved ones `other_value` and `other_payout`, in place of money elsewhere;
- the share of bots in these, as `bot_conversions` and so on;
- `costed` and `cost`: clicks with a known cost and its sum, bots' too; `cost_unknown`: clicks with
  one that is not known;
- `further`: the number of clicks with any of these, and of events with any measure besides
  `conversions`, `value` and `payout`;
- `changes` in `total` and `hour`: the number of subtracted events;
- `corrections` in `total`, which recounts and removed clicks increment, and in `hour` too parents
  that are found late. Both only grow: they show that a value has moved although the sums are equal
  (`reports/joint_counts/fingerprints`).

`link_id` is null for the account, and for conversions without a click. A drain writes only
documents of its drain number, so drains never wait for each other. Reports add up
all numbers. Further cells of a full document have further numbers (`reports/rollups/parts`).

Days and hours follow the account's calendar. Hours are numbered from the start of the day, up
to "24" and more. Outside UTC, `of` ends with the calendar's `zone`, as in `account Europe/Berlin`.
It stays when the account changes its zone.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote
from uuid import UUID

from bson import Decimal128

from tracker import visitor_dimensions
from tracker.calendar import DEFAULT_ZONE
from tracker.ids import id_text
from tracker.reports.dimensions import DOMAIN, EVENT, HOUR, LINK
from tracker.reports.limits import CACHED_PATHS
from tracker.reports.rollups.money import decimal_of_billionths, whole_number

MONEY: Final = ("value", "payout")
"""The kinds of money of events."""

MONEY_ENDS: Final = (*MONEY, "cost")
"""The ends of the paths of money, which is in billionths here."""

DRAIN_NUMBER: Final = "slot"
"""The drain number, as it is stored in the `_id` of rollups and arrivals."""

CHANGES: Final = "changes"
CORRECTIONS: Final = "corrections"
_COUNTERS: Final = (CHANGES, CORRECTIONS)
"""Measures that are not sums of clicks or events."""

_SUMMED: Final = frozenset(("total", "hour", "event", "domain", *visitor_dimensions.NAMES))
"""The fields of a document that hold cells."""

_EMPTY: Final = "%"


class RollupId(NamedTuple):
    """The `_id` of a document without its drain number, in this order."""

    account_id: UUID
    of: str
    day: str
    link_id: UUID | None


Values = tuple[int, tuple[str, ...]]
"""The hour, and the value of each visitor dimension."""

Sums = dict[str, int]
"""Numbers by path, such as `device.mobile.clicks`; money in billionths."""


def of_zone(of: str, zone: str) -> str:
    """Return the field `of` in a zone, such as `account` or `link Europe/Berlin`."""
    return of if zone == DEFAULT_ZONE else f"{of} {zone}"


def statement_of(
    document_id: Mapping[str, Any],
    added: Mapping[str, int | Decimal128],
    domain_name: str | None,
) -> dict[str, Any]:
    """Return a statement of the `update` command that adds to a document, or inserts it.

    Only a link has a `domain_name`.
    """
    update: dict[str, Any] = {"$inc": added}
    if domain_name is not None:
        update["$setOnInsert"] = {"domain_name": domain_name}
    return {"q": {"_id": document_id}, "u": update, "upsert": True}


def increments(sums: Sums) -> Mapping[str, int | Decimal128]:
    return {
        path: decimal_of_billionths(number) if path.endswith(MONEY_ENDS) else number
        for path, number in sums.items()
    }


def stored_sums(document: Mapping[str, Any]) -> Sums:
    """Return the sums of a stored document, without zeros and counters of changes.

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
    return without_zeros(sums)


def rollups_of(
    account_id: UUID, zone: str, of: str | None = None, link_id: UUID | None = None
) -> dict[str, Any]:
    """Return the filter for the rollups of the `account`, of each `link`, or of one link."""
    of = of or ("account" if link_id is None else "link")
    found: dict[str, Any] = {
        "_id.account_id": account_id,
        "_id.of": of_zone(of, zone),
    }
    return found if link_id is None else {**found, "_id.link_id": link_id}


def config_name(config_id: UUID | bytes | None) -> str:
    if config_id is None:
        return "none"
    return id_text(config_id) if isinstance(config_id, bytes) else str(config_id)


@lru_cache(maxsize=CACHED_PATHS)
def cells_of(values: Values) -> tuple[str, ...]:
    """Return the cells, in both documents, of a click or an event with these values."""
    hour, visitor = values
    visitor_cells = [
        f"{name}.{encoded(value)}"
        for name, value in zip(visitor_dimensions.NAMES, visitor, strict=True)
    ]
    return ("total", f"hour.{hour:02}", *visitor_cells)


def event_cell(name: str) -> str:
    return f"event.{name}"


def domain_cell(name: str) -> str:
    return f"domain.{encoded(name)}"


@lru_cache(maxsize=CACHED_PATHS)
def with_domain(cells: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the cells of the account: most have a single domain."""
    return (*cells, domain_cell(name))


def without_zeros(sums: Sums) -> Sums:
    if all(sums.values()):
        return sums
    return {path: number for path, number in sums.items() if number}


_MAPS: Final = {
    "account": frozenset((*visitor_dimensions.NAMES, HOUR, EVENT, DOMAIN)),
    "link": frozenset((*visitor_dimensions.NAMES, HOUR, EVENT)),
}
_FIELDS: Final = {"account": frozenset[str](), "link": frozenset((LINK, DOMAIN))}


class RollupSelection(NamedTuple):
    """The rollups to read for a report. `map` is the map to add up, None for the totals."""

    of: str
    map: str | None


def rollups_for(needed: Collection[str]) -> RollupSelection | None:
    """Return the smallest rollups with these counted dimensions; None if none has them."""
    for of, maps in _MAPS.items():
        crossed = set(needed) - _FIELDS[of]
        if len(crossed) <= 1 and crossed <= maps:
            return RollupSelection(of, next(iter(crossed), None))
    return None


@lru_cache(maxsize=CACHED_PATHS)
def encoded(value: str) -> str:
    """Return `value` as a field name: never empty, and without dots and dollars.

    Visitors choose some values, so every name must be safe in MongoDB.
    """
    return quote(value, safe=" ").replace(".", "%2E") or _EMPTY


def decoded(name: str) -> str:
    return "" if name == _EMPTY else unquote(name)
