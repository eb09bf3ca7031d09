"""Rollups: what clicks and events add up to, for each day, of each link and of the whole account.

A document is

    {_id: {account_id, of: "account" | "link", day: "2026-01-31", link_id, slot},
     domain_name,                     of a link only
     total: CELL, device: {mobile: CELL, ...}, browser: {...}, os: {...}, country: {...},
     hour: {"09": CELL, ...}, event: {<event config>: CELL}, domain: {...} of the account only}

where a CELL has those of MEASURES that are not zero. `link_id` is null for the account, and for
conversions that have no click, whose other values are `unknown`. A drain adds to the documents of
its slot alone, so that drains do not wait for each other; a report adds the slots up. Pure: the
drain writes the updates in the transaction that stores what they count, and the rebuild computes
the same sums from what is stored.

What a click or an event adds is decided here and nowhere else. An event counts as soon as its
account is known; when its click arrives, what it added is taken back and added again with what the
click tells (`add_event` with sign -1, then 1).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote
from uuid import UUID

from bson import Decimal128

from tracker.clock import day_of
from tracker.conversions.attribution import Status

UNKNOWN: Final = "unknown"

VISITOR_DIMENSIONS: Final = ("country", "device", "browser", "os")

MEASURES: Final = (
    "clicks",  # of people
    "unique",  # the first of a visitor on the link and day
    "bots",  # clicks of bots and prefetches
    "conversions",
    "value",
    "payout",
    "bot_conversions",  # of the conversions, those whose click was a bot's; the same for money
    "bot_value",
    "bot_payout",
)

COUNTED: Final = (Status.PENDING, Status.NO_CLICK, Status.FOREIGN_CLICK, Status.ATTRIBUTED)
"""States of an event in which it counts, if its account is known."""

MONEY: Final = tuple(name for name in MEASURES if name.endswith(("value", "payout")))
"""Counted to a billionth, so that sums of Decimal128 are exact up to 10^25; here in billionths."""

_BILLIONTH: Final = Decimal("1e-9")
_WIDE: Final = Context(prec=60)


class RollupId(NamedTuple):
    """A document without its slot: `_id` in this order."""

    account_id: UUID
    of: str
    day: str
    link_id: UUID | None


class _Values(NamedTuple):
    """Of what is counted: the value in each dimension."""

    hour: str
    country: str
    device: str
    browser: str
    os: str


class _Group(NamedTuple):
    """Clicks or events that count in the same documents and cells."""

    account_id: UUID
    day: str
    link_id: UUID | None
    domain_name: str
    values: _Values
    event: str


Sums = dict[str, int]
"""What to add, by path in the document, such as `device.mobile.clicks`; money in billionths."""


class Rollup:
    """Collects; ask for `sums` or `updates` when everything was added."""

    def __init__(self) -> None:
        self._numbers: Counter[tuple[_Group, str]] = Counter()

    def add_click(self, click: Mapping[str, Any], count: int = 1) -> None:
        """`click` is a document, or stands for `count` of them."""
        group = _Group(
            click["account_id"],
            day_of(click["at"]),
            click["link_id"],
            click["domain_name"],
            _values(click),
            "",
        )
        if click["bot"] is not None:
            self._numbers[group, "bots"] += count
            return
        self._numbers[group, "clicks"] += count
        if click["unique"]:
            self._numbers[group, "unique"] += count

    def add_event(self, event: Mapping[str, Any], sign: int = 1) -> None:
        """Nothing is added unless the event counts in its state."""
        if event["account_id"] is None or event["status"] not in COUNTED:
            return
        config = event["event_config_id"]
        group = _Group(
            event["account_id"],
            day_of(event["at"]),
            event.get("link_id"),
            event.get("domain_name", UNKNOWN),
            _values(event),
            "none" if config is None else str(config),
        )
        for prefix in ("", "bot_") if event.get("bot") is not None else ("",):
            self._numbers[group, prefix + "conversions"] += sign
            for measure in ("value", "payout"):
                if event[measure] is not None:
                    self._numbers[group, prefix + measure] += sign * _billionths(event[measure])

    def sums(self) -> dict[RollupId, Sums]:
        """What to add to each document; no zeros."""
        found: defaultdict[RollupId, Counter[str]] = defaultdict(Counter)
        for (group, measure), number in self._numbers.items():
            sums = found[_link_id(group)]
            for path in _paths(group.values, group.event, measure):
                sums[path] += number
        for (group, measure), number in self._without_links().items():
            sums = found[RollupId(group.account_id, "account", group.day, None)]
            for path in _paths(group.values, group.event, measure):
                sums[path] += number
            sums[f"domain.{encoded(group.domain_name)}.{measure}"] += number
        kept = {rollup_id: _without_zeros(sums) for rollup_id, sums in found.items()}
        return {rollup_id: sums for rollup_id, sums in kept.items() if sums}

    def updates(self, slot: int) -> list[dict[str, Any]]:
        """Statements of the `update` command, for the documents of `slot`."""
        domains = {_link_id(group): group.domain_name for group, _ in self._numbers}
        return [
            statement(rollup_id, slot, sums, domains.get(rollup_id))
            for rollup_id, sums in self.sums().items()
        ]

    def _without_links(self) -> Counter[tuple[_Group, str]]:
        """Far fewer: the values of many links are the same."""
        together: Counter[tuple[_Group, str]] = Counter()
        for (group, measure), number in self._numbers.items():
            together[group._replace(link_id=None), measure] += number
        return together


def statement(
    rollup_id: RollupId, slot: int, sums: Sums, domain_name: str | None
) -> dict[str, Any]:
    """One statement of the `update` command that adds `sums` to a document, or makes it.

    `domain_name` is that of a link."""
    update: dict[str, Any] = {"$inc": {path: _stored(path, sums[path]) for path in sums}}
    if domain_name is not None:
        update["$setOnInsert"] = {"domain_name": domain_name}
    return {"q": {"_id": {**rollup_id._asdict(), "slot": slot}}, "u": update, "upsert": True}


def stored_sums(document: Mapping[str, Any]) -> Sums:
    """The sums in a stored document, by path; no zeros."""
    sums: Sums = {}
    for name, field in document.items():
        if name in ("_id", "domain_name"):
            continue
        cells = {name: field} if name == "total" else {f"{name}.{key}": field[key] for key in field}
        for path, cell in cells.items():
            sums |= {f"{path}.{measure}": _number(number) for measure, number in cell.items()}
    return _without_zeros(sums)


def encoded(value: str) -> str:
    """`value` as a field name: without dots and dollars, and never empty."""
    return quote(value, safe=" ").replace(".", "%2E") or "%"


def decoded(name: str) -> str:
    """The value that became the field name `name`."""
    return "" if name == "%" else unquote(name)


def _values(source: Mapping[str, Any]) -> _Values:
    at: datetime = source["at"]
    return _Values(f"{at.hour:02}", *(source.get(name, UNKNOWN) for name in VISITOR_DIMENSIONS))


@lru_cache(maxsize=10_000)
def _paths(values: _Values, event: str, measure: str) -> tuple[str, ...]:
    """Where a number of a group is added, in the document of a link as in that of an account."""
    cells = [f"{name}.{encoded(value)}" for name, value in values._asdict().items()]
    if event:
        cells.append(f"event.{event}")
    return tuple(f"{cell}.{measure}" for cell in ("total", *cells))


def _link_id(group: _Group) -> RollupId:
    return RollupId(group.account_id, "link", group.day, group.link_id)


def _without_zeros(sums: Mapping[str, int]) -> Sums:
    return {path: number for path, number in sums.items() if number}


def _billionths(money: Decimal128) -> int:
    return int(money.to_decimal().quantize(_BILLIONTH, context=_WIDE).scaleb(9, _WIDE))


def _stored(path: str, number: int) -> int | Decimal128:
    if path.endswith(MONEY):
        return Decimal128(Decimal(number).scaleb(-9, _WIDE).normalize(_WIDE))
    return number


def _number(stored: int | Decimal128) -> int:
    return _billionths(stored) if isinstance(stored, Decimal128) else stored
