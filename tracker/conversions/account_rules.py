"""The rules and the currency of accounts, as they are stored and cached.

Guarantee: every process sees a change within a second.
"""

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import msgspec
import pymongo
from bson import Decimal128

from tracker.conversions.document import Attribution
from tracker.conversions.rules import NO_RULES, ConversionRules, Rule
from tracker.errors import BadRequest, NotFound
from tracker.metrics import CONVERSIONS_REFUSED
from tracker.stores.cache.cache import Cache, Versioned
from tracker.stores.cache.lookup import FieldLookup
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import stored_ids, updated
from tracker.stores.redis import keys
from tracker.stores.services import StoreServices

for _rule in Rule:
    CONVERSIONS_REFUSED.labels(_rule)


_MONEY_SECONDS: Final = 10


class CachedRules(Versioned, frozen=True, kw_only=True):
    """The cached rules of an account, and its currency: a code of ISO 4217, None for units."""

    rules: ConversionRules
    currency: str | None = None


_UNKNOWN: Final = CachedRules(version=0, rules=NO_RULES)
"""The rules of an account that is not stored."""

RulesCache = Cache[CachedRules]


def rules_cache(stores: StoreServices, max_values: int) -> RulesCache:
    """Build the cache of rules. Its keys are `keys.account(account_id)`."""
    fields = ["version", "conversion_rules", "currency"]
    lookup = FieldLookup(stores.mongodb.reads, "accounts", "_id", fields, _cached, UUID)
    return Cache(stores.copies, CachedRules, lookup, max_values)


class AccountRules:
    """The rules of all accounts."""

    def __init__(self, mongodb: MongoDB, cache: RulesCache) -> None:
        self._accounts = mongodb["accounts"]
        self._events = mongodb["events"]
        self._reads = mongodb.reads.with_binary_ids()
        self._cache = cache

    def peek(self, account_id: UUID) -> CachedRules | None:
        """Return the rules in memory; None: ask `cached`."""
        entry = self._cache.peek(keys.account(account_id))
        return None if entry is None else entry.value or _UNKNOWN

    async def cached(self, account_id: UUID) -> CachedRules:
        """Return the rules in memory or a store. Raises Unavailable if none answers."""
        return await self._cache.get(keys.account(account_id)) or _UNKNOWN

    async def set_by(self, account_ids: Collection[bytes]) -> dict[bytes, ConversionRules]:
        """Return the rules of accounts that have set any, by one query of MongoDB."""
        if not account_ids:
            return {}
        matching = {"_id": {"$in": stored_ids(account_ids)}, "conversion_rules": {"$exists": True}}
        rows = await self._reads.find("accounts", matching, ["conversion_rules"])
        found = {bytes(row["_id"]): _rules(row) for row in rows}
        return {one: rules for one, rules in found.items() if rules != NO_RULES}

    async def currencies(self, account_ids: Collection[bytes]) -> dict[bytes, str]:
        """Return the currencies of accounts that have one, by one query of MongoDB."""
        if not account_ids:
            return {}
        matching = {"_id": {"$in": stored_ids(account_ids)}, "currency": {"$type": "string"}}
        rows = await self._reads.find("accounts", matching, ["currency"])
        return {bytes(row["_id"]): row["currency"] for row in rows}

    async def find(self, account_id: UUID) -> ConversionRules:
        """Return the rules as `stored` does."""
        return (await self.stored(account_id)).rules

    async def stored(self, account_id: UUID) -> CachedRules:
        """Return what MongoDB has. Raises NotFound if there is no such account."""
        row = await self._accounts.find_one({"_id": account_id}, ["conversion_rules", "currency"])
        if row is None:
            raise NotFound("account: not found")
        return _cached(row)

    async def change(self, account_id: UUID, fields: Mapping[str, Any]) -> ConversionRules:
        """Set checked `fields` of the rules. Raises NotFound if there is no such account.

        Raises Unavailable if Redis is unavailable, because it would serve the old copy.
        """
        changed = {f"conversion_rules.{one}": _stored(value) for one, value in fields.items()}
        return (await self._set(account_id, changed)).rules

    async def set_currency(self, account_id: UUID, currency: str) -> None:
        """Set a checked code. Raises as `change`, and BadRequest if stored money has another one.

        An account without a currency may get one: its money is in it from then on.
        """
        before = (await self.stored(account_id)).currency
        if before == currency:
            return
        if before is not None and await self._has_money(account_id):
            raise BadRequest("currency: cannot be changed, because conversions have money in it")
        await self._set(account_id, {"currency": currency})

    async def _has_money(self, account_id: UUID) -> bool:
        """Use the index of the log. Conversions of no amount are passed over, most often few."""
        money = [{one: {"$nin": [None, Decimal128("0")]}} for one in ("value", "payout")]
        matching = {"account_id": account_id, "status": {"$in": list(Attribution)}, "$or": money}
        with pymongo.timeout(_MONEY_SECONDS):
            return await self._events.find_one(matching, ["_id"], hint="log") is not None

    async def _set(self, account_id: UUID, changed: Mapping[str, Any]) -> CachedRules:
        name = keys.account(account_id)
        await self._cache.begin_update(name)
        update = {"$set": changed, "$inc": {"version": 1}}
        cached = _cached(await updated(self._accounts, {"_id": account_id}, update, "account"))
        await self._cache.changed(name, cached, cached.version)
        return cached


def refusal(rules: ConversionRules, broken: Rule) -> BadRequest:
    """Return the error for a conversion that breaks a rule by itself, and count it."""
    CONVERSIONS_REFUSED.labels(broken).inc()
    messages = {
        Rule.REQUIRE_PBK: "pbk: required by the account that the click belongs to",
        Rule.NO_NEGATIVE_VALUES: "value: the account takes no negative ones",
        Rule.MAX_VALUE: f"value: at most {rules.max_value}, by a rule of the account",
    }
    return BadRequest(messages[broken])


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
    return CachedRules(
        version=row.get("version", 0), rules=_rules(row), currency=row.get("currency")
    )
