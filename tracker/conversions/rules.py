"""Rules of an account against conversions that visitors forge from the click id in their URL.

- Every rule is off unless the account switches it on.
- A conversion of a known account is checked before its answer. The drain checks all others.
- The drain alone decides the cap of conversions per click (`ingest/plan`).

Guarantee: every process sees a change within a second.
"""

from collections.abc import Collection, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import msgspec
from bson import Decimal128

from tracker.errors import BadRequest, NotFound
from tracker.metrics import CONVERSIONS_REFUSED
from tracker.stores.batch import Waiter
from tracker.stores.cache.cache import Cache, Versioned
from tracker.stores.cache.lookup import FieldLookup
from tracker.stores.cache.memory import CacheEntry
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import stored_ids, updated
from tracker.stores.redis import keys
from tracker.stores.services import StoreServices

MAX_VALUE: Final = 10**15
MAX_PER_CLICK: Final = 1000


class Rule(StrEnum):
    """The rules for conversions. One that breaks a rule does not count."""

    REQUIRE_PBK = "require_pbk"
    NO_NEGATIVE_VALUES = "no_negative_values"
    MAX_VALUE = "max_value"
    MAX_PER_CLICK = "max_per_click"


for _rule in Rule:
    CONVERSIONS_REFUSED.labels(_rule)


class ConversionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of an account.

    `max_per_click` limits each click and event configuration. Conversions of a click without a
    postback key have a limit of their own.
    """

    require_pbk: bool = False
    no_negative_values: bool = False
    max_value: Decimal | None = None
    max_per_click: int | None = None

    def broken_by(self, has_pbk: bool, value: Decimal | None) -> Rule | None:
        """Return the first rule that a conversion breaks by itself."""
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
        """Return the error for a conversion that breaks `rule` by itself, and count it."""
        CONVERSIONS_REFUSED.labels(rule).inc()
        messages = {
            Rule.REQUIRE_PBK: "pbk: required by the account that the click belongs to",
            Rule.NO_NEGATIVE_VALUES: "value: the account takes no negative ones",
            Rule.MAX_VALUE: f"value: at most {self.max_value}, by a rule of the account",
        }
        return BadRequest(messages[rule])


NO_RULES: Final = ConversionRules()


class CachedRules(Versioned, frozen=True, kw_only=True):
    """The cached rules of an account."""

    rules: ConversionRules


RulesCache = Cache[CachedRules]


def rules_cache(stores: StoreServices, max_values: int) -> RulesCache:
    """Build the cache of rules. Its keys are `keys.account(account_id)`."""
    fields = ["version", "conversion_rules"]
    lookup = FieldLookup(stores.mongodb.reads, "accounts", "_id", fields, _cached, UUID)
    return Cache(stores.copies, CachedRules, lookup, max_values)


class AccountRules:
    """The rules of all accounts."""

    def __init__(self, mongodb: MongoDB, cache: RulesCache) -> None:
        self._accounts = mongodb["accounts"]
        self._reads = mongodb.reads.with_binary_ids()
        self._cache = cache

    def peek(self, account_id: UUID) -> CacheEntry[CachedRules] | None:
        """Return the rules in memory; None: ask `load`."""
        return self._cache.peek(keys.account(account_id))

    def load(self, account_id: UUID, waiter: Waiter[CachedRules | None]) -> None:
        """Hand the cached rules to `waiter`, None if the account is not stored.

        It is handed Unavailable if no store answers.
        """
        self._cache.load(keys.account(account_id), "", waiter)

    async def set_by(self, account_ids: Collection[bytes]) -> dict[bytes, ConversionRules]:
        """Return the rules of those accounts that have set any, by one query of MongoDB."""
        if not account_ids:
            return {}
        matching = {"_id": {"$in": stored_ids(account_ids)}, "conversion_rules": {"$exists": True}}
        rows = await self._reads.find("accounts", matching, ["conversion_rules"])
        found = {bytes(row["_id"]): _rules(row) for row in rows}
        return {one: rules for one, rules in found.items() if rules != NO_RULES}

    async def find(self, account_id: UUID) -> ConversionRules:
        """Return the rules as MongoDB has them. Raises NotFound if there is no such account."""
        row = await self._accounts.find_one({"_id": account_id}, ["conversion_rules"])
        if row is None:
            raise NotFound("account: not found")
        return _rules(row)

    async def change(self, account_id: UUID, fields: Mapping[str, Any]) -> ConversionRules:
        """Set checked `fields` of the rules. Raises NotFound if there is no such account.

        Raises Unavailable if Redis is unavailable, because it would serve the old copy.
        """
        name = keys.account(account_id)
        await self._cache.begin_update(name)
        changed = {f"conversion_rules.{one}": _stored(value) for one, value in fields.items()}
        update = {"$set": changed, "$inc": {"version": 1}}
        cached = _cached(await updated(self._accounts, {"_id": account_id}, update, "account"))
        await self._cache.changed(name, cached, cached.version)
        return cached.rules


def rules_in(cached: CachedRules | None) -> ConversionRules:
    """Return NO_RULES if the account is not stored."""
    return NO_RULES if cached is None else cached.rules


def checked_max_value(value: object) -> Decimal | None:
    """Check a rule that None switches off. Raises BadRequest if it is no number in the range."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise BadRequest("max_value: must be a number or null")
    highest = Decimal(value)
    if not (highest.is_finite() and 0 <= highest <= MAX_VALUE):
        raise BadRequest(f"max_value: must be from 0 to {MAX_VALUE}")
    if highest != round(highest, 6):
        raise BadRequest("max_value: at most 6 decimals")
    return highest


def checked_max_per_click(number: object) -> int | None:
    """Check a rule that None switches off. Raises BadRequest if it is no integer in the range."""
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
