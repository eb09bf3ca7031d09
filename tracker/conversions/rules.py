"""An account's rules against conversions that visitors forge from the click id that they see.

Every rule is off unless the account switches it on. A conversion whose account is known is checked
before it is answered; the drain checks all others when they are stored or settled, and decides the
cap of conversions a click (`ingest/batch_writer`). The rules of an account are a part of its
document, and are read through a cache (`db/cache`): a change is seen by every process within a
second.
"""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import msgspec
from bson import Decimal128
from pymongo import ReturnDocument
from redis.asyncio import Redis

from tracker.db import keys
from tracker.db.breaker import Breaker
from tracker.db.budget import Budget
from tracker.db.cache import Cache, Known, Versioned
from tracker.db.connect import Database, LookUpDatabase
from tracker.db.source import FieldSource
from tracker.errors import BadRequest, NotFound
from tracker.metrics import CONVERSIONS_REFUSED

MAX_VALUE: Final = 10**15
MAX_PER_CLICK: Final = 1000


class Rule(StrEnum):
    """Why a conversion does not count."""

    REQUIRE_PBK = "require_pbk"
    NO_NEGATIVE_VALUES = "no_negative_values"
    MAX_VALUE = "max_value"
    MAX_PER_CLICK = "max_per_click"


class ConversionRules(msgspec.Struct, frozen=True, kw_only=True):
    """`max_per_click` bounds the conversions of one click and event configuration; those without
    a postback key have one bound of their own."""

    require_pbk: bool = False
    no_negative_values: bool = False
    max_value: Decimal | None = None
    max_per_click: int | None = None

    def broken_by(self, has_pbk: bool, value: Decimal | None) -> Rule | None:
        """Return the first rule that a conversion breaks by itself, without regard to others."""
        if self.require_pbk and not has_pbk:
            return Rule.REQUIRE_PBK
        if value is None:
            return None
        if self.no_negative_values and value < 0:
            return Rule.NO_NEGATIVE_VALUES
        if self.max_value is not None and value > self.max_value:
            return Rule.MAX_VALUE
        return None

    def refusal(self, rule: Rule) -> BadRequest:
        """Make the answer to a conversion that breaks `rule`, and count it."""
        CONVERSIONS_REFUSED.labels(rule).inc()
        messages = {
            Rule.REQUIRE_PBK: "pbk: required by the account that the click belongs to",
            Rule.NO_NEGATIVE_VALUES: "value: the account takes no negative ones",
            Rule.MAX_VALUE: f"value: at most {self.max_value}, by a rule of the account",
            Rule.MAX_PER_CLICK: f"click_id: at most {self.max_per_click} conversions of a click "
            "and event configuration, by a rule of the account",
        }
        return BadRequest(messages[rule])


NO_RULES: Final = ConversionRules()


class CachedRules(Versioned, frozen=True, kw_only=True):
    rules: ConversionRules


RulesCache = Cache[CachedRules]


def rules_cache(
    redis: Redis, breaker: Breaker, database: LookUpDatabase, entries: int, budget: Budget
) -> RulesCache:
    """Names are those of `keys.account`."""
    fields = ["version", "conversion_rules"]
    source = FieldSource(database, "accounts", "_id", fields, _cached, UUID)
    return Cache(redis, breaker, CachedRules, source, entries, budget=budget)


class AccountRules:
    def __init__(self, database: Database, cache: RulesCache) -> None:
        self._accounts = database["accounts"]
        self._cache = cache

    def known(self, account_id: UUID) -> Known[CachedRules] | None:
        """Return what memory knows of an account's rules; None: ask `of`."""
        return self._cache.peek(keys.account(account_id))

    async def of(self, account_id: UUID) -> ConversionRules:
        """Return the rules of an account. Raises Unavailable if no store can tell."""
        return rules_in(await self._cache.get(keys.account(account_id)))

    async def find(self, account_id: UUID) -> ConversionRules:
        """Return the rules as MongoDB has them. Raises NotFound if there is no such account."""
        row = await self._accounts.find_one({"_id": account_id}, ["conversion_rules"])
        if row is None:
            raise NotFound("account: not found")
        return _rules(row)

    async def change(self, account_id: UUID, fields: Mapping[str, Any]) -> ConversionRules:
        """Set checked `fields` of the rules, and leave the others.

        Raises NotFound, and Unavailable if Redis is unavailable: its copy would outlive the change.
        """
        name = keys.account(account_id)
        await self._cache.begin_update(name)
        changed = {f"conversion_rules.{one}": _stored(value) for one, value in fields.items()}
        row = await self._accounts.find_one_and_update(
            {"_id": account_id},
            {"$set": changed, "$inc": {"version": 1}},
            return_document=ReturnDocument.AFTER,
        )
        if row is None:
            raise NotFound("account: not found")
        cached = _cached(row)
        await self._cache.changed(name, cached, cached.version)
        return cached.rules


def rules_in(cached: CachedRules | None) -> ConversionRules:
    """An account that is not stored has none."""
    return NO_RULES if cached is None else cached.rules


def checked_max_value(value: object) -> Decimal | None:
    """Return a highest value as it is kept. Raises BadRequest naming the rule."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise BadRequest("max_value: must be a number or null")
    most = Decimal(value)
    if not (most.is_finite() and 0 <= most <= MAX_VALUE):
        raise BadRequest(f"max_value: must be from 0 to {MAX_VALUE}")
    if most != round(most, 6):
        raise BadRequest("max_value: at most 6 decimals")
    return most


def checked_max_per_click(number: object) -> int | None:
    """Return a highest number of conversions. Raises BadRequest naming the rule."""
    if number is None:
        return None
    is_number = isinstance(number, int) and not isinstance(number, bool)
    if not is_number or not 1 <= number <= MAX_PER_CLICK:  # type: ignore[operator]
        raise BadRequest(
            f"max_per_click: must be a whole number from 1 to {MAX_PER_CLICK}, or null"
        )
    return number  # type: ignore[return-value]


def _stored(value: Any) -> Any:
    return Decimal128(value) if isinstance(value, Decimal) else value


def _rules(row: Mapping[str, Any]) -> ConversionRules:
    fields = row.get("conversion_rules", {})
    numbers = {
        name: value.to_decimal() if isinstance(value, Decimal128) else value
        for name, value in fields.items()
    }
    return msgspec.convert(numbers, ConversionRules)


def _cached(row: Mapping[str, Any]) -> CachedRules:
    return CachedRules(version=row.get("version", 0), rules=_rules(row))
