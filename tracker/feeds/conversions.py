"""The feed of conversions, and their number for a click."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from bson import Decimal128

from tracker.clicks.document import OWN_PARAMETERS, ConversionClickValues, sent_parameters
from tracker.conversions.corrections.status import Status, is_click_key
from tracker.conversions.document import COUNTED, Attribution
from tracker.conversions.rules import Rule
from tracker.feeds.arrivals import FeedName, conversion_entries
from tracker.feeds.corrections.statement import CORRECTING
from tracker.feeds.feed import Feed
from tracker.feeds.filter import Conditions, FeedFilter, conditions_for_conversions
from tracker.feeds.kind import FeedKind, LinkIds, ScanRange, link_conditions
from tracker.stores.mongodb.documents import as_struct
from tracker.stores.mongodb.reads import MongoReads

SHOWN: Final = tuple(one for one in Attribution if one is not Attribution.CLAIMED)
"""The states of conversions in the feed. A claimed one changes its state before it counts."""

MAX_COUNTED: Final = 1000
"""Conversions of a click are counted up to here. This number means this many or more."""

_MAX_IN_ONE_QUERY: Final = 50_000
"""Conversions that one query counts for all clicks. If there are more, each click has its own
query, up to MAX_COUNTED, which is slower."""


class StoredConversion(ConversionClickValues, frozen=True, kw_only=True):
    """A stored conversion with an account. `changes` are as `corrections/changes` has them."""

    id: int
    account_id: UUID
    at: datetime
    received_at: datetime | None = None
    reported: Status = Status.APPROVED
    unknown_word: str | None = None
    status: Attribution
    refused: Rule | None = None
    event_config_id: UUID | None
    click_id: UUID | None
    link_id: UUID | None = None
    rule_id: UUID | None = None
    variant_id: UUID | None = None
    parent_link_id: UUID | None = None
    value: Decimal | None
    payout: Decimal | None
    refunded_value: Decimal | None = None
    currency: str | None = None
    transaction_id: str | None = None
    consent: str | None = None
    metadata: str | None = None
    warnings: Sequence[str] = ()
    repeats: int = 0
    last_repeat_at: datetime | None = None
    changes: Sequence[Any] = ()
    revision: int = 0
    parameters: dict[str, str]


def row_of(document: Mapping[str, Any]) -> StoredConversion:
    # MongoDB returns large numbers in a type of its own.
    parameters = sent_parameters(document)
    shown = {**document, "_id": int(document["_id"]), "parameters": parameters}
    shown |= {name: _money(document.get(name)) for name in ("value", "payout", "refunded_value")}
    if is_click_key(document.get("transaction_id") or ""):
        del shown["transaction_id"]
    return as_struct(StoredConversion, shown)


def _money(value: Decimal128 | None) -> Decimal | None:
    return None if value is None else value.to_decimal()


def _scan(
    account_id: UUID, wanted: FeedFilter, links: LinkIds, conditions: Conditions
) -> ScanRange:
    """Return the range to scan. A named id or word has its own index."""
    states = list(wanted.attributions or SHOWN)
    own = {"account_id": account_id, "status": {"$in": states}}
    others = [*conditions, *link_conditions(links)]
    if wanted.id is not None:
        return ScanRange("_id_", [{"_id": wanted.id}, *wanted.times], [own, *others])
    if named := wanted.of_transaction:
        others = [*wanted.of_click, *others]
        return ScanRange("by_transaction", named, [own, *wanted.times, *others])
    if named := wanted.of_click:
        return ScanRange("by_click", named, [own, *wanted.times, *others])
    if word := wanted.unknown_word:
        of_word = {"account_id": account_id, "unknown_word": word}
        return ScanRange("unknown_words", [of_word, *wanted.times], [own, *others])
    return ScanRange("log", [own, *wanted.times], others)


_DERIVED: Final = ("id", "changes", "parameters")
_FIELDS: Final = [
    *(one for one in StoredConversion.__struct_fields__ if one not in _DERIVED),
    *OWN_PARAMETERS,
]

_HISTORY: Final = ("changes", "report", "revision", CORRECTING)

CONVERSIONS: Final = FeedKind(
    FeedName.CONVERSIONS,
    "events",
    _FIELDS,
    0,
    row_of,
    conversion_entries,
    conditions_for_conversions,
    _scan,
)


class ConversionFeed(Feed[StoredConversion]):
    """The feed of conversions, which also finds one by its id."""

    def __init__(self, reader: MongoReads, host: str) -> None:
        super().__init__(CONVERSIONS, reader, host)

    async def find(self, event_id: int) -> StoredConversion | None:
        """Return the conversion, if it exists and has an account."""
        document = (await self.documents([event_id])).get(event_id)
        return None if document is None else row_of(document)

    async def documents(self, event_ids: Collection[int]) -> dict[int, dict[str, Any]]:
        """Return the documents of those of the conversions that have an account, by id."""
        wanted = {"_id": {"$in": list(event_ids)}, "account_id": {"$ne": None}}
        shown = {**wanted, "status": {"$in": SHOWN}}
        rows = await self._reader.find("events", shown, [*_FIELDS, *_HISTORY])
        return {int(row["_id"]): row for row in rows}

    async def ids_of_transactions(
        self, transaction_ids: Collection[str], scopes: Collection[UUID]
    ) -> dict[str, dict[UUID, int]]:
        """Return the conversions with each transaction id, by scope."""
        named = {"$in": [one for one in transaction_ids if not is_click_key(one)]}
        within = {"transaction_scope": {"$in": list(scopes)}, "transaction_id": named}
        fields = ["transaction_scope", "transaction_id"]
        found: defaultdict[str, dict[UUID, int]] = defaultdict(dict)
        for row in await self._reader.find("events", within, fields):
            found[row["transaction_id"]][row["transaction_scope"]] = int(row["_id"])
        return found

    async def count_of_clicks(
        self, account_id: UUID, click_ids: Collection[UUID]
    ) -> dict[UUID, int]:
        """Return the number of conversions that count, for each click that has some."""
        counting: dict[str, Any] = {"account_id": account_id, "status": {"$in": list(COUNTED)}}
        stages: list[dict[str, Any]] = [
            {"$match": {"click_id": {"$in": list(click_ids)}, **counting}},
            {"$limit": _MAX_IN_ONE_QUERY},
            {"$group": {"_id": "$click_id", "count": {"$sum": 1}}},
        ]
        together = await self._reader.aggregate("events", stages, hint="by_click")
        counts = {row["_id"]: min(row["count"], MAX_COUNTED) for row in together}
        if sum(row["count"] for row in together) < _MAX_IN_ONE_QUERY:
            return counts
        for click_id in click_ids:
            counts[click_id] = await self._reader.count(
                "events", {"click_id": click_id, **counting}, limit=MAX_COUNTED, hint="by_click"
            )
        return counts
