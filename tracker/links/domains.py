"""Custom domains in MongoDB: claims to hostnames. A proof makes one claim the owner.

- Unique indexes decide races: an account claims a name once, and only one claim is proven.
- Slugs are unique within a domain, not a name, so a new claim to a name begins without links.
- Every process sees a change of served names within a second (`links/cache`).
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from pymongo.errors import DuplicateKeyError

from tracker.clock import now, now_ms
from tracker.errors import BadRequest, ErrorCode, NotFound
from tracker.ids import new_id, new_secret
from tracker.links.cache import DOMAIN_FIELDS, DomainCache
from tracker.links.counts.counts import change_in_pieces
from tracker.links.domain import (
    FILES,
    QUARANTINE,
    DnsCheck,
    Domain,
    IsReserved,
    ServedName,
    served_name,
)
from tracker.stores.batch import Batch, Waiter
from tracker.stores.cache.memory import CacheEntry
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct, updated
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.stores.redis import keys

_TOKEN_BYTES = 24
_IN_USE: dict[str, Any] = {"quarantined_until": None}


class Domains:
    """The domains in MongoDB. With `serve_claimed`, a sole claim serves links without a proof."""

    def __init__(
        self,
        mongodb: MongoDB,
        cache: DomainCache,
        serve_claimed: bool,
        is_reserved: IsReserved,
    ) -> None:
        self._database = mongodb.database
        self._domains = mongodb["domains"]
        self._reads = mongodb.reads
        self._pages = Pages(mongodb.reads, "domains", Domain, begun=FILES)
        self._texts = Batch[UUID, dict[str, str] | None](self._find_texts, 50)
        self._cache = cache
        self._serve_claimed = serve_claimed
        self._is_reserved = is_reserved

    async def create(self, account_id: UUID, domain_name: str) -> Domain:
        """Claim `domain_name`, in its canonical form, for the account; return the domain.

        Raises BadRequest if the account has claimed it already, or another account has proven it.
        Raises Unavailable without Redis if another account has claimed it.
        """
        domain = Domain(
            version=now_ms(),
            id=new_id(),
            account_id=account_id,
            domain_name=domain_name,
            verified=False,
            token=new_secret("", _TOKEN_BYTES),
            created_at=now(),
        )
        is_claimed = await self._domains.find_one({"domain_name": domain_name}, ["_id"]) is not None
        if is_claimed:
            await self._cache.begin_update(keys.domain(domain_name))
        try:
            await self._domains.insert_one(as_document(domain))
        except DuplicateKeyError:
            raise _taken("already added to this account") from None
        # Checked after the insert: a proof from now on ends this claim.
        if reason := await self._why_taken(domain):
            await self._domains.delete_one({"_id": domain.id})
            raise _taken(reason)
        if is_claimed:
            await self._publish(domain_name)
        else:
            await self._publish_new(domain_name)
        return domain

    async def verify(
        self,
        domain_id: UUID,
        in_transaction: Callable[[MongoSession], Awaitable[None]] | None = None,
    ) -> Domain:
        """Record a DNS proof, and end other accounts' claims.

        Raises NotFound, or BadRequest if another account was first.
        """
        domain = await self._begin_update(domain_id)

        async def prove(session: MongoSession) -> Domain:
            proven = await self._prove(domain, session)
            if in_transaction is not None:
                await in_transaction(session)
            return proven

        try:
            proven = await run_in_transaction(self._database, prove)
        except DuplicateKeyError:
            raise _taken("proven by another account") from None
        ended = await self._end_other_claims(proven)
        await self._archive_links(ended)
        await self._publish(domain.domain_name)
        return proven

    async def change(
        self,
        domain_id: UUID,
        settings: Mapping[str, Any],
        in_transaction: Callable[[MongoSession, Domain, Domain], Awaitable[None]],
    ) -> Domain:
        """Change the settings; return the domain. Raises NotFound.

        `in_transaction` gets the domain before and after.
        """
        await self._begin_update(domain_id)
        wanted = {"_id": domain_id, **_IN_USE}
        update = {"$set": settings, "$inc": {"version": 1}}

        async def revise(session: MongoSession) -> Domain:
            before = await self._domains.find_one(wanted, session=session)
            after = await updated(self._domains, wanted, update, "domain", session)
            domain = as_struct(Domain, after)
            await in_transaction(session, as_struct(Domain, before or after), domain)
            return domain

        changed = await run_in_transaction(self._database, revise)
        await self._publish(changed.domain_name)
        return changed

    async def delete(self, domain_id: UUID) -> None:
        """Delete a domain; quarantine a proven one. Its links are archived. Raises NotFound."""
        domain = await self._begin_update(domain_id)
        quarantine = {"$set": {"quarantined_until": now() + QUARANTINE}, "$inc": {"version": 1}}
        proven = {"_id": domain_id, "verified": True, **_IN_USE}
        quarantined = await self._domains.update_one(proven, quarantine)
        if not quarantined.matched_count:
            deleted = await self._domains.delete_one({"_id": domain_id, "verified": False})
            if not deleted.deleted_count:
                raise NotFound("domain: not found")
        await self._archive_links([domain_id])
        await self._publish(domain.domain_name)

    async def find(self, domain_id: UUID) -> Domain | None:
        """Return the domain; None if there is none or it was deleted."""
        return await self._find({"_id": domain_id})

    async def find_own(self, account_id: UUID, domain_name: str) -> Domain | None:
        """Return the account's domain of that name; None if it has none."""
        return await self._find({"domain_name": domain_name, "account_id": account_id})

    async def _find(self, wanted: Mapping[str, Any]) -> Domain | None:
        row = await self._domains.find_one({**wanted, **_IN_USE})
        return None if row is None else as_struct(Domain, row)

    async def text(self, domain_id: UUID, name: str) -> str | None:
        """Return a text for apps. Requests of the same moment share one query."""
        found = await self._texts.submit(domain_id)
        return found.get(name) if found else None

    async def proven(self, domain_ids: Collection[UUID]) -> Collection[UUID]:
        """Return the domains among some that are proven and in use."""
        if not domain_ids:
            return ()
        wanted = {"_id": {"$in": list(domain_ids)}, "verified": True, **_IN_USE}
        return {row["_id"] async for row in self._domains.find(wanted, ["_id"])}

    async def record_check(self, domain_id: UUID, check: DnsCheck) -> Domain:
        """Store the result of a look-up; return the domain. Raises NotFound if it is deleted."""
        wanted = {"_id": domain_id, **_IN_USE}
        update = {"$set": {"last_check": msgspec.structs.asdict(check)}}
        return as_struct(Domain, await updated(self._domains, wanted, update, "domain"))

    async def lock(self, domain_ids: Collection[UUID], session: MongoSession) -> set[UUID]:
        """Return the domains in use, which nobody can delete until the transaction ends."""
        in_use = {"_id": {"$in": list(domain_ids)}, **_IN_USE}
        # Only a write conflicts with a deletion.
        await self._domains.update_many(in_use, {"$inc": {"version": 1}}, session=session)
        return {row["_id"] async for row in self._domains.find(in_use, ["_id"], session=session)}

    def peek(self, name: str) -> CacheEntry[ServedName] | None:
        """Return the name's entry in memory; None if `load` has to look it up."""
        return self._cache.peek(keys.domain(name))

    async def by_name(self, domain_name: str, client: str = "") -> ServedName | None:
        """Return the served name; None if there is none. `client` is the visitor's address."""
        # Its copy may be older than the setting that reserves the name.
        if self._is_reserved(domain_name):
            return None
        return await self._cache.get(keys.domain(domain_name), client)

    def load(self, name: str, client: str, waiter: Waiter[ServedName | None]) -> None:
        """Hand the served name to `waiter`, as `by_name` does."""
        if self._is_reserved(name):
            waiter.set_result(None)
        else:
            self._cache.load(keys.domain(name), client, waiter)

    def namespace(self, name: ServedName | None, named: bool) -> str | None:
        """Return the namespace of a visit's links: "" for the default domain, None: there is none.

        `named`: the query names the domain, by `d`. A quarantined name must not lead to the default
        domain, where anybody could create its old slugs.
        """
        if name is None:
            return None if named else ""
        if name.namespace and (named or name.verified or self._serve_claimed):
            return name.namespace
        return None if named or name.quarantined else ""

    async def serves(self, domain_name: str) -> bool:
        """Return whether the Host header finds links here."""
        return bool(self.namespace(await self.by_name(domain_name), named=False))

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[Domain], int]:
        wanted = {"account_id": account_id, **_IN_USE}
        return await self._pages.find(wanted, page, page_size)

    async def _prove(self, domain: Domain, session: MongoSession) -> Domain:
        """Mark the domain as proven. Raises NotFound, or DuplicateKeyError if another is proven."""
        name = {"domain_name": domain.domain_name, "_id": {"$ne": domain.id}}
        own_quarantine = {**name, "account_id": domain.account_id, "verified": True}
        await self._domains.delete_many(own_quarantine, session=session)
        wanted = {"_id": domain.id, **_IN_USE}
        update = {"$set": {"verified": True}, "$inc": {"version": 1}}
        return as_struct(Domain, await updated(self._domains, wanted, update, "domain", session))

    async def _end_other_claims(self, proven: Domain) -> list[UUID]:
        """Delete the other claims; return their ids. A claim left by a crash serves nothing."""
        others = {"domain_name": proven.domain_name, "_id": {"$ne": proven.id}}
        ended = [row["_id"] async for row in self._domains.find(others, ["_id"])]
        await self._domains.delete_many({"_id": {"$in": ended}})
        return ended

    async def _why_taken(self, domain: Domain) -> str | None:
        others = {"domain_name": domain.domain_name, "verified": True}
        row = await self._domains.find_one({**others, "account_id": {"$ne": domain.account_id}})
        if row is None:
            return None
        until = as_struct(Domain, row).quarantined_until
        if until is None:
            return "proven by another account"
        return f"another account had it; free after {until:%Y-%m-%d}"

    async def _find_texts(self, ids: list[UUID]) -> list[dict[str, str] | None]:
        rows = await self._reads.find("domains", {"_id": {"$in": ids}}, FILES, limit=len(ids))
        found = {row["_id"]: row for row in rows}
        return [found.get(one) for one in ids]

    async def _begin_update(self, domain_id: UUID) -> Domain:
        """Let the domain's copies in Redis expire soon; return the domain."""
        domain = await self.find(domain_id)
        if domain is None:
            raise NotFound("domain: not found")
        await self._cache.begin_update(keys.domain(domain.domain_name))
        return domain

    async def _publish_new(self, domain_name: str) -> None:
        """Publish a name that nobody had claimed before, unless somebody has just done so too."""
        claims = await self._claims(domain_name)
        served = served_name(claims, self._is_reserved)
        if len(claims) > 1:
            await self._cache.begin_update(keys.domain(domain_name))
            await self._publish(domain_name)
        elif served is not None:
            await self._cache.created(keys.domain(domain_name), served)

    async def _publish(self, domain_name: str) -> None:
        """Publish the served name. Its version is the time before the read, so later reads win."""
        version = now_ms()
        served = served_name(await self._claims(domain_name), self._is_reserved)
        await self._cache.changed(keys.domain(domain_name), served, version)

    async def _claims(self, domain_name: str) -> list[Domain]:
        rows = self._domains.find({"domain_name": domain_name}, DOMAIN_FIELDS)
        return [as_struct(Domain, row) async for row in rows]

    async def _archive_links(self, domain_ids: Sequence[UUID]) -> None:
        for domain_id in domain_ids:
            in_use = {"domain_id": domain_id, "archived": False}
            update = {"$set": {"archived": True}, "$inc": {"version": 1}}
            archived = partial(msgspec.structs.replace, archived=True)
            await change_in_pieces(self._database, in_use, update, archived)


def _taken(reason: str) -> BadRequest:
    return BadRequest(f"domain_name: already taken: {reason}", code=ErrorCode.ALREADY_TAKEN)
