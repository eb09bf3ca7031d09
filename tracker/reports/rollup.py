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

from collections import defaultdict
from collections.abc import Iterator, Mapping
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

_CLICKS: Final[tuple[str, ...]] = ("clicks",)
_UNIQUE: Final = ("clicks", "unique")
_BOTS: Final = ("bots",)
_CONVERSIONS: Final = ("conversions",)
_BOT_CONVERSIONS: Final = ("conversions", "bot_conversions")

_BILLIONTH: Final = Decimal("1e-9")
_WIDE: Final = Context(prec=60)


class RollupId(NamedTuple):
    """A document without its slot: `_id` in this order."""

    account_id: UUID
    of: str
    day: str
    link_id: UUID | None


_Values = tuple[int, str, str, str, str]
"""Hour, then the values of VISITOR_DIMENSIONS."""

Sums = dict[str, int]
"""What to add, by path in the document, such as `device.mobile.clicks`; money in billionths."""


class _Document:
    """What is added to one document. `alike` is of an account: clicks and events of many links have
    the same values, and are few when they are counted together."""

    __slots__ = ("alike", "domain_name", "id", "sums")

    def __init__(self, rollup_id: RollupId, domain_name: str) -> None:
        self.id = rollup_id
        self.domain_name = domain_name
        self.sums: defaultdict[str, int] = defaultdict(int)
        self.alike: defaultdict[tuple[_Values, str, tuple[str, ...], str], int] = defaultdict(int)


class Rollup:
    """Collects; ask for `sums` or `updates` when everything was added.

    Called for every click, so it is written for speed: about 13 µs for one.
    """

    def __init__(self) -> None:
        # By account, day and link, as integers: a UUID is slow to hash.
        self._links: dict[tuple[int, int, int], _Document] = {}
        self._accounts: dict[tuple[int, int], _Document] = {}

    def add_click(self, click: Mapping[str, Any], count: int = 1) -> None:
        """`click` is a document, or stands for `count` of them."""
        measures: tuple[str, ...] = _BOTS
        if click["bot"] is None:
            measures = _UNIQUE if click["unique"] else _CLICKS
        values = (
            click["at"].hour,
            click["country"],
            click["device"],
            click["browser"],
            click["os"],
        )
        self._add(click, click["link_id"], click["domain_name"], values, "", measures, count)

    def add_event(self, event: Mapping[str, Any], sign: int = 1) -> None:
        """Nothing is added unless the event counts in its state."""
        if event["account_id"] is None or event["status"] not in COUNTED:
            return
        config = event["event_config_id"]
        values = (event["at"].hour, *(event.get(name, UNKNOWN) for name in VISITOR_DIMENSIONS))
        place = (event.get("link_id"), event.get("domain_name", UNKNOWN), values)
        name = "none" if config is None else str(config)
        is_bot = event.get("bot") is not None
        self._add(event, *place, name, _BOT_CONVERSIONS if is_bot else _CONVERSIONS, sign)
        for measure in ("value", "payout"):
            if event[measure] is not None:
                money = sign * _billionths(event[measure])
                measures = (measure, f"bot_{measure}") if is_bot else (measure,)
                self._add(event, *place, name, measures, money)

    def sums(self) -> dict[RollupId, Sums]:
        """What to add to each document; no zeros."""
        found = {document.id: _without_zeros(document.sums) for document in self._links.values()}
        for document in self._accounts.values():
            found[document.id] = _without_zeros(_together(document))
        return {rollup_id: sums for rollup_id, sums in found.items() if sums}

    def updates(self, slot: int) -> Iterator[dict[str, Any]]:
        """Statements of the `update` command, for the documents of `slot`; 10 µs each."""
        names = self.domain_names()
        for rollup_id, sums in self.sums().items():
            yield statement(rollup_id, slot, sums, names.get(rollup_id))

    def domain_names(self) -> dict[RollupId, str]:
        """That of each link; it never changes."""
        return {
            one.id: one.domain_name for one in self._links.values() if one.domain_name is not None
        }

    def _add(
        self,
        source: Mapping[str, Any],
        link_id: UUID | None,
        domain_name: str,
        values: _Values,
        event: str,
        measures: tuple[str, ...],
        number: int,
    ) -> None:
        account_id, day = source["account_id"], source["at"].toordinal()
        key = (account_id.int, day, -1 if link_id is None else link_id.int)
        of_link = self._links.get(key)
        if of_link is None:
            rollup_id = RollupId(account_id, "link", day_of(source["at"]), link_id)
            of_link = self._links[key] = _Document(rollup_id, domain_name)
        of_account = self._accounts.get(key[:2])
        if of_account is None:
            rollup_id = RollupId(account_id, "account", day_of(source["at"]), None)
            of_account = self._accounts[key[:2]] = _Document(rollup_id, "")
        sums = of_link.sums
        for path in _paths(values, event, measures):
            sums[path] += number
        of_account.alike[values, event, measures, domain_name] += number


def _together(document: _Document) -> Sums:
    sums: defaultdict[str, int] = defaultdict(int)
    for (values, event, measures, domain_name), number in document.alike.items():
        for path in _paths(values, event, measures):
            sums[path] += number
        for measure in measures:
            sums[f"domain.{encoded(domain_name)}.{measure}"] += number
    return sums


def statement(
    rollup_id: RollupId, slot: int, sums: Sums, domain_name: str | None
) -> dict[str, Any]:
    """One statement of the `update` command that adds `sums` to a document, or makes it.

    `domain_name` is that of a link."""
    account_id, of, day, link_id = rollup_id
    full_id = {"account_id": account_id, "of": of, "day": day, "link_id": link_id, "slot": slot}
    update: dict[str, Any] = {"$inc": _increments(sums)}
    if domain_name is not None:
        update["$setOnInsert"] = {"domain_name": domain_name}
    return {"q": {"_id": full_id}, "u": update, "upsert": True}


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


@lru_cache(maxsize=10_000)
def _paths(values: _Values, event: str, measures: tuple[str, ...]) -> tuple[str, ...]:
    """Where a number is added, in the document of a link as in that of an account."""
    hour, *others = values
    cells = ["total", f"hour.{hour:02}"]
    cells += [
        f"{name}.{encoded(value)}" for name, value in zip(VISITOR_DIMENSIONS, others, strict=True)
    ]
    if event:
        cells.append(f"event.{event}")
    return tuple(f"{cell}.{measure}" for cell in cells for measure in measures)


def _without_zeros(sums: Sums) -> Sums:
    if all(sums.values()):
        return sums
    return {path: number for path, number in sums.items() if number}


def _billionths(money: Decimal128) -> int:
    return _billionths_of(money.bid)


@lru_cache(maxsize=10_000)
def _billionths_of(bid: bytes) -> int:
    """By the bytes of a Decimal128: the same amounts come again and again, and take 20 µs each."""
    exact = Decimal128.from_bid(bid).to_decimal()
    return int(exact.quantize(_BILLIONTH, context=_WIDE).scaleb(9, _WIDE))


def _increments(sums: Sums) -> Mapping[str, int | Decimal128]:
    money = [path for path in sums if path.endswith(MONEY)]
    return {**sums, **{path: _money(sums[path]) for path in money}} if money else sums


@lru_cache(maxsize=10_000)
def _money(billionths: int) -> Decimal128:
    """Of one event the same is added in each of its cells, and takes 10 µs."""
    return Decimal128(Decimal(billionths).scaleb(-9, _WIDE).normalize(_WIDE))


def _number(stored: int | Decimal128) -> int:
    return _billionths(stored) if isinstance(stored, Decimal128) else stored
