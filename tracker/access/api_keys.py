"""API keys: `trk_` and 32 random bytes. Only the SHA-256 of a key is stored.

Processes cache valid keys. A revocation takes effect at once in its process, and within a second in
every other process: two seconds if Redis cannot publish it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from redis.asyncio import Redis

from tracker.access.invitations import Invitations
from tracker.access.key_family import KeyFamily, valid_filter
from tracker.access.key_uses import KeyUses
from tracker.access.principal import OPERATOR, Actor, ActorKind, Principal
from tracker.clock import now
from tracker.errors import ErrorCode, LimitReached, NotFound, Unauthorized
from tracker.ids import new_id, new_secret, secret_digest
from tracker.stores.batch import Batch
from tracker.stores.cache.trusted_memory import TrustedMemory, publish_changes
from tracker.stores.mongodb.account_lock import has_room, lock_account
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.stores.redis import keys

_PREFIX_CHARACTERS = 12
MAX_REMEMBERED_KEYS = 10_000

MAX_VALID_KEYS: Final = 100
"""Keys of an account that are neither revoked nor expired. The operator has no limit."""


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """A stored key, without its secret. `scopes` is None for every scope.

    `created_by` is None for keys of earlier releases.
    """

    id: UUID
    account_id: UUID
    name: str
    prefix: str
    scopes: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    created_by: Actor | None = None

    @property
    def principal(self) -> Principal:
        actor = Actor(kind=ActorKind.API_KEY, id=self.id, name=self.name)
        return Principal(
            account_id=self.account_id,
            actor=actor,
            scopes=self.scopes,
            expires_at=self.expires_at,
        )

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= now()

    @property
    def parent_id(self) -> UUID | None:
        """Return the id of the key that created this one; None if no key did."""
        maker = self.created_by
        return maker.id if maker and maker.kind == ActorKind.API_KEY else None


Approve = Callable[[Sequence[ApiKey], MongoSession], Awaitable[None]]
"""Called with the keys to revoke, in the transaction. It may raise."""


class ApiKeys:
    """The API keys in MongoDB.

    `valid` has the keys that this process has found valid, `uses` when they were last used.
    """

    def __init__(self, mongodb: MongoDB, redis: Redis, invitations: Invitations) -> None:
        self._database = mongodb.database
        self._keys = mongodb["api_keys"]
        self._invitations = invitations
        self._reads = mongodb.reads
        self._look_ups = Batch[bytes, dict[str, Any] | None](self._find_all)
        self._pages = Pages(mongodb.reads, "api_keys", ApiKey)
        self._redis = redis
        self.valid: TrustedMemory[ApiKey] = TrustedMemory(MAX_REMEMBERED_KEYS)
        self.uses = KeyUses(mongodb)
        self.family = KeyFamily(mongodb.database)

    async def create(
        self,
        account_id: UUID,
        name: str,
        scopes: list[str] | None = None,
        expires_at: datetime | None = None,
        created_by: Actor = OPERATOR,
        session: MongoSession | None = None,
    ) -> tuple[ApiKey, str]:
        """Store a new key; return it and its secret, which is stored nowhere."""
        secret = new_secret("trk_", 32)
        key = ApiKey(
            id=new_id(),
            account_id=account_id,
            name=name,
            prefix=secret[:_PREFIX_CHARACTERS],
            scopes=scopes,
            created_at=now(),
            expires_at=expires_at,
            last_used_at=None,
            revoked_at=None,
            created_by=created_by,
        )
        stored = {**as_document(key), "sha256": secret_digest(secret)}
        await self._keys.insert_one(stored, session=session)
        return key, secret

    async def create_by(
        self,
        maker: Principal,
        name: str,
        scopes: list[str] | None,
        expires_at: datetime | None,
        session: MongoSession,
    ) -> tuple[ApiKey, str]:
        """Create a key for `maker`. Raises BadRequest if the account has MAX_VALID_KEYS."""
        owner, limit = maker.account_id, MAX_VALID_KEYS
        if not await has_room(self._database, "api_keys", owner, limit, session, valid_filter()):
            raise LimitReached(f"name: at most {limit} keys that are valid; revoke one first")
        return await self.create(owner, name, scopes, expires_at, maker.actor, session)

    async def principals_of(self, key_ids: Sequence[UUID]) -> dict[UUID, Principal]:
        """Return the principals of the valid keys among `key_ids`, by key id."""
        if not key_ids:
            return {}
        found = self._keys.find({"_id": {"$in": [*key_ids]}, **valid_filter()})
        return {row["_id"]: as_struct(ApiKey, row).principal async for row in found}

    def peek_account(self, secret: str) -> UUID | None:
        """Return the account of `secret`, without a look-up; None if memory lacks the key."""
        key = self.valid.peek(keys.api_key(secret_digest(secret)))
        return None if key is None or key.has_expired else key.account_id

    async def authenticate(self, secret: str) -> ApiKey:
        """Return the key of `secret`. Raises Unauthorized if it is unknown, revoked or expired."""
        digest = secret_digest(secret)
        name = keys.api_key(digest)
        key = await self.valid.get(name, lambda: self._find(digest))
        if key.has_expired:
            raise Unauthorized("API key: expired", code=ErrorCode.KEY_EXPIRED)
        self.uses.note(key.id, key.last_used_at)
        return key

    async def _find(self, digest: bytes) -> ApiKey:
        row = await self._look_ups.submit(digest)
        if row is None:
            raise Unauthorized("API key: unknown")
        key = as_struct(ApiKey, row)
        if key.revoked_at is not None:
            raise Unauthorized("API key: revoked", code=ErrorCode.KEY_REVOKED)
        return key

    async def _find_all(self, digests: Sequence[bytes]) -> Sequence[dict[str, Any] | None]:
        matching = {"sha256": {"$in": digests}}
        rows = await self._reads.find("api_keys", matching, limit=len(set(digests)))
        found = {row["sha256"]: row for row in rows}
        return [found.get(digest) for digest in digests]

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[ApiKey], int]:
        found, total = await self._pages.find({"account_id": account_id}, page, page_size)
        return [self._with_last_use(one) for one in found], total

    async def find_all(self, ids: Sequence[UUID]) -> dict[UUID, ApiKey]:
        """Return keys, even revoked ones, by their ids."""
        return await self._pages.by_ids(ids)

    async def find(self, key_id: UUID) -> ApiKey | None:
        """Return a key, even a revoked one; None if there is none."""
        row = await self._keys.find_one({"_id": key_id})
        return None if row is None else self._key(row)

    def _key(self, row: Mapping[str, Any]) -> ApiKey:
        return self._with_last_use(as_struct(ApiKey, row))

    def _with_last_use(self, key: ApiKey) -> ApiKey:
        """Return a key with the use that this process has not stored yet."""
        last_used_at = self.uses.latest(key.id, key.last_used_at)
        return msgspec.structs.replace(key, last_used_at=last_used_at)

    async def revoke(
        self, key_id: UUID, approve: Approve | None = None, *, with_descendants: bool = False
    ) -> tuple[ApiKey, list[ApiKey]]:
        """Revoke a key; return it, and all keys that this call has revoked.

        Open invitations and password resets of these keys end too.
        """

        async def work(session: MongoSession) -> tuple[dict[str, Any], list[dict[str, Any]]]:
            row = await self._keys.find_one({"_id": key_id}, session=session)
            if row is None:
                raise NotFound("API key: not found")
            ended = await self._to_revoke(row, with_descendants, session)
            if approve is not None:
                await approve([as_struct(ApiKey, one) for one in ended], session)
            ids, change = [one["_id"] for one in ended], {"revoked_at": now()}
            await self._keys.update_many({"_id": {"$in": ids}}, {"$set": change}, session=session)
            await self._invitations.end_made_by(row["account_id"], ids, session)
            ended = [one | change for one in ended]
            return next((one for one in ended if one["_id"] == key_id), row), ended

        # Not in the account's queue: other requests must not delay it.
        row, ended = await run_in_transaction(self._database, work)
        # Even if it was revoked before: that may not have been published.
        names = [keys.api_key(one["sha256"]) for one in [row, *ended]]
        for name in names:
            self.valid.forget(name)
        await publish_changes(self._redis, *names)
        return self._key(row), [self._key(one) for one in ended]

    async def _to_revoke(
        self, row: dict[str, Any], with_descendants: bool, session: MongoSession
    ) -> list[dict[str, Any]]:
        ended = [row] if row["revoked_at"] is None else []
        if not with_descendants:
            return ended
        # No key of the family can create another meanwhile.
        await lock_account(self._database, row["account_id"], session)
        family = await self.family.descendants(row["account_id"], session)
        younger = {"_id": {"$in": family.get(row["_id"], [])}}
        return ended + await self._keys.find(younger, session=session).sort("_id", 1).to_list(None)

    async def list(self, account_id: UUID) -> list[ApiKey]:
        rows = self._keys.find({"account_id": account_id}).sort("_id", -1)
        return [self._key(row) async for row in rows]
