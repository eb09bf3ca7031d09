"""Custom domains: hostnames that serve an account's links.

A name belongs to one account at a time; a unique index decides races. Domains are read through a
cache (`db/cache`), so every process sees a change within a second.

A domain can be deleted once all its links are archived, and anybody may add its name again. That
begins anew: the archived links of before keep their history but no longer hold their slugs. Their
`domain_name` becomes `<name>#<a new id>`, which no visitor can ask for. A link made in the very
moment of the deletion is archived with them. Should the process die before all this is done, it is
done when the name is added again.
"""

import re
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import idna
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError
from redis.asyncio import Redis

from tracker.clock import now, now_ms
from tracker.db import keys
from tracker.db.breaker import Breaker
from tracker.db.cache import Cache, Known, Versioned
from tracker.db.connect import Database
from tracker.db.documents import document, record
from tracker.db.paging import page_of
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_id, new_secret

_LENGTH = 253
_ADDED_LENGTH = 244
"""Longest name that can be added: a label for its proof has to fit before it."""
_TOKEN_BYTES = 24
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


# The last label as browsers read a number: the whole is an IPv4 address then.
_NUMBER = re.compile(r"0x[0-9a-f]*")


def checked_name(text: str) -> str:
    """The canonical form of a hostname that an account may add.

    Raises BadRequest naming `domain_name` and the rule.
    """
    name = canonical_hostname(text)
    labels = name.split(".")
    if not name or "_" in name or _NUMBER.fullmatch(labels[-1]) or not all(map(_is_idna, labels)):
        raise BadRequest(
            "domain_name: must be a hostname such as go.example.com, without scheme, port, path "
            "or wildcard, and no IP address"
        )
    if len(labels) < 2:
        raise BadRequest("domain_name: at least two labels, as in go.example.com")
    if len(name) > _ADDED_LENGTH:
        raise BadRequest(f"domain_name: at most {_ADDED_LENGTH} characters in its ASCII form")
    return name


def _is_idna(label: str) -> bool:
    """Whether an ASCII label that claims to stand for another one does."""
    if not label.startswith("xn--"):
        return True
    try:
        idna.ulabel(label)
    except idna.IDNAError:
        return False
    return True


class Domain(Versioned, frozen=True, kw_only=True):
    """`token` is random: what DNS has to show as a proof is made of it (`verification`)."""

    id: UUID
    account_id: UUID
    domain_name: str
    verified: bool
    token: str
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
        self._links = database["links"]
        self._cache = cache

    async def create(self, account_id: UUID, domain_name: str) -> Domain:
        """`domain_name` in its canonical form. Raises BadRequest if it is taken."""
        domain = Domain(
            version=now_ms(),
            id=new_id(),
            account_id=account_id,
            domain_name=domain_name,
            verified=False,
            token=new_secret("", _TOKEN_BYTES),
            created_at=now(),
        )
        try:
            await self._domains.insert_one(document(domain))
        except DuplicateKeyError:
            raise BadRequest("domain_name: already taken") from None
        await self._release(domain_name, {"$ne": domain.id})
        await self._cache.changed(keys.domain(domain_name), domain, domain.version)
        return domain

    async def verify(self, domain_id: UUID) -> Domain:
        """Set `verified`, for good. Raises NotFound, and Unavailable if Redis is away."""
        domain = await self._changing(domain_id)
        row = await self._domains.find_one_and_update(
            {"_id": domain_id},
            {"$set": {"verified": True}, "$inc": {"version": 1}},
            return_document=ReturnDocument.AFTER,
        )
        if row is None:
            raise NotFound("domain: not found")
        verified = record(Domain, row)
        await self._cache.changed(keys.domain(domain.domain_name), verified, verified.version)
        return verified

    async def delete(self, domain_id: UUID) -> None:
        """Delete a domain whose links are all archived: its caller has to see to that.

        Raises NotFound, and Unavailable if Redis is away.
        """
        domain = await self._changing(domain_id)
        row = await self._domains.find_one_and_delete({"_id": domain_id})
        if row is None:
            raise NotFound("domain: not found")
        gone = record(Domain, row).version + 1
        await self._cache.changed(keys.domain(domain.domain_name), None, gone)
        await self._release(domain.domain_name, domain_id)

    async def find(self, domain_id: UUID) -> Domain | None:
        row = await self._domains.find_one({"_id": domain_id})
        return None if row is None else record(Domain, row)

    def known(self, name: str) -> Known[Domain] | None:
        """What `by_name` would answer without waiting; None if it would have to ask."""
        return self._cache.known(keys.domain(name))

    async def by_name(self, domain_name: str) -> Domain | None:
        return await self._cache.get(keys.domain(domain_name))

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[Domain], int]:
        """One page of the account's domains, newest first, and how many there are."""
        rows, total = await page_of(self._domains, {"account_id": account_id}, page, page_size)
        return [record(Domain, row) for row in rows], total

    async def _changing(self, domain_id: UUID) -> Domain:
        """The domain as it is, its copies about to expire. Raises NotFound and Unavailable."""
        domain = await self.find(domain_id)
        if domain is None:
            raise NotFound("domain: not found")
        await self._cache.changing(keys.domain(domain.domain_name))
        return domain

    async def _release(self, domain_name: str, domain_id: Any) -> None:
        """Take the name from links of deleted domains; `domain_id` as a MongoDB query has it."""
        await self._links.update_many(
            {"domain_name": domain_name, "domain_id": domain_id},
            {
                "$set": {"domain_name": f"{domain_name}#{new_id()}", "archived": True},
                "$inc": {"version": 1},
            },
        )
