"""Custom domains: hostnames that serve an account's links."""

import re
from datetime import datetime
from functools import lru_cache
from uuid import UUID

import idna
from pymongo.errors import DuplicateKeyError
from redis.asyncio import Redis

from tracker.clock import now, now_ms
from tracker.db import keys
from tracker.db.breaker import Breaker
from tracker.db.cache import Cache, Versioned
from tracker.db.connect import Database
from tracker.db.documents import document, record
from tracker.errors import BadRequest
from tracker.ids import new_id

_LENGTH = 253
_LABELS = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*"
    r"(?=[a-z0-9-]*[a-z])[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
)


def canonical_hostname(text: str) -> str:
    """Lower case, IDNA names in their ASCII form, no final dot; empty if it is not a hostname."""
    # Visitors send it: what is remembered of them has to be bounded in size too.
    return _canonical_hostname(text) if len(text) <= _LENGTH + 1 else ""


@lru_cache(maxsize=10_000)
def _canonical_hostname(text: str) -> str:
    name = text.removesuffix(".").lower()
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode()
        except idna.IDNAError:
            return ""
    return name if len(name) <= _LENGTH and _LABELS.fullmatch(name) else ""


class Domain(Versioned, frozen=True, kw_only=True):
    id: UUID
    account_id: UUID
    domain_name: str
    verified: bool
    created_at: datetime


DomainCache = Cache[Domain]


def domain_cache(redis: Redis, breaker: Breaker, database: Database, entries: int) -> DomainCache:
    """Names are those of `keys.domain`."""

    async def load(name: str) -> Domain | None:
        row = await database["domains"].find_one({"domain_name": name.removeprefix("domain:")})
        return None if row is None else record(Domain, row)

    return Cache(redis, breaker, Domain, load, entries)


class Domains:
    def __init__(self, database: Database, cache: DomainCache) -> None:
        self._domains = database["domains"]
        self._cache = cache

    async def create(self, account_id: UUID, domain_name: str) -> Domain:
        """`domain_name` in its canonical form. Raises BadRequest if it is taken."""
        domain = Domain(
            version=now_ms(),
            id=new_id(),
            account_id=account_id,
            domain_name=domain_name,
            verified=False,
            created_at=now(),
        )
        try:
            await self._domains.insert_one(document(domain))
        except DuplicateKeyError:
            raise BadRequest("domain_name: already taken") from None
        await self._cache.changed(keys.domain(domain_name), domain, domain.version)
        return domain

    async def find(self, domain_id: UUID) -> Domain | None:
        row = await self._domains.find_one({"_id": domain_id})
        return None if row is None else record(Domain, row)

    async def by_name(self, domain_name: str) -> Domain | None:
        return await self._cache.get(keys.domain(domain_name))
