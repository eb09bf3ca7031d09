"""API keys: `trk_` and 32 random bytes. Only the SHA-256 of a key is stored.

A process that hears of changes keeps the keys that it has found valid in memory: a revocation holds
within a second everywhere, and at once where it was made.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from redis.asyncio import Redis

from tracker.access.invitations import Invitations
from tracker.access.principal import OPERATOR, Actor, ActorKind, Principal
from tracker.clock import now
from tracker.db import keys
from tracker.db.connect import Database, LookUpDatabase
from tracker.db.documents import document, record
from tracker.db.paging import Pages
from tracker.db.transaction import Session, run_in_transaction
from tracker.db.trusted_memory import TrustedMemory, publish_change
from tracker.errors import ErrorCode, NotFound, Unauthorized
from tracker.ids import new_id, new_secret

_PREFIX_CHARACTERS = 12
MAX_REMEMBERED_KEYS = 10_000
"""Keys whose account a process remembers; the least recently used one is dropped first."""

_LAST_USED_INTERVAL = timedelta(minutes=1)


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key as stored, without its secret. `scopes` is None if the key has every scope.

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
        """Return the principal of requests with this key."""
        actor = Actor(kind=ActorKind.API_KEY, id=self.id, name=self.name)
        return Principal(account_id=self.account_id, actor=actor, scopes=self.scopes)


class ApiKeys:
    """The stored API keys. `valid` are those that this process has found valid."""

    def __init__(
        self, database: Database, lists: LookUpDatabase, redis: Redis, invitations: Invitations
    ) -> None:
        self._database = database
        self._keys = database["api_keys"]
        self._invitations = invitations
        self._pages = Pages(lists, "api_keys", ApiKey)
        self._redis = redis
        self.valid: TrustedMemory[ApiKey] = TrustedMemory(MAX_REMEMBERED_KEYS)
        self._accounts: OrderedDict[bytes, UUID] = OrderedDict()

    async def create(
        self,
        account_id: UUID,
        name: str,
        scopes: list[str] | None = None,
        expires_at: datetime | None = None,
        created_by: Actor = OPERATOR,
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
        by = {"created_by": msgspec.to_builtins(created_by, builtin_types=(UUID,))}
        await self._keys.insert_one({**document(key), **by, "sha256": _digest(secret)})
        return key, secret

    async def count_valid(self, account_id: UUID) -> int:
        """Return how many keys of the account are neither revoked nor expired."""
        return await self._keys.count_documents({"account_id": account_id, **_valid()})

    async def accounts_of(self, key_ids: Sequence[UUID]) -> dict[UUID, UUID]:
        """Return the accounts of those keys that are valid, by the keys' ids."""
        if not key_ids:
            return {}
        found = self._keys.find({"_id": {"$in": [*key_ids]}, **_valid()}, ["account_id"])
        return {row["_id"]: row["account_id"] async for row in found}

    def peek_account(self, secret: str) -> UUID | None:
        """Return the account of `secret` as last seen by this process, without a look-up.

        The key may have been revoked since: this only lets both rate limits be counted at once.
        """
        return self._accounts.get(_digest(secret))

    async def authenticate(self, secret: str) -> ApiKey:
        """Return the key of `secret`. Raises Unauthorized if it is unknown, revoked or expired."""
        digest = _digest(secret)
        name, generation = keys.api_key(digest), self.valid.generation
        known = self.valid.get(name)
        try:
            key = known or await self._find(digest)
            _check_expiry(key)
        except Unauthorized:
            self._accounts.pop(digest, None)
            raise
        self._remember(digest, key.account_id)
        if await self._touch(key):
            self.valid.forget(name)
        elif known is None:
            self.valid.put(name, key, generation)
        return key

    async def _find(self, digest: bytes) -> ApiKey:
        row = await self._keys.find_one({"sha256": digest})
        if row is None:
            raise Unauthorized("API key: unknown")
        key = record(ApiKey, row)
        if key.revoked_at is not None:
            raise Unauthorized("API key: revoked", code=ErrorCode.KEY_REVOKED)
        return key

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[ApiKey], int]:
        """Return one page of the account's keys, newest first, and the number of all."""
        return await self._pages.find({"account_id": account_id}, page, page_size)

    async def list(self, account_id: UUID) -> list[ApiKey]:
        """Return the account's keys, newest first."""
        rows = self._keys.find({"account_id": account_id}).sort("_id", -1)
        return [record(ApiKey, row) async for row in rows]

    async def find(self, key_id: UUID) -> ApiKey | None:
        """Return the key, revoked or not, or None if there is none."""
        row = await self._keys.find_one({"_id": key_id})
        return None if row is None else record(ApiKey, row)

    async def revoke(self, key_id: UUID) -> tuple[ApiKey, bool]:
        """Revoke a key and end the open links that it made; return it, and whether this call did.

        Revoking again keeps the first time. Raises NotFound if there is no such key.
        """

        async def work(session: Session) -> tuple[Mapping[str, Any], bool]:
            row = await self._keys.find_one({"_id": key_id}, session=session)
            if row is None:
                raise NotFound("API key: not found")
            if row["revoked_at"] is not None:
                return row, False
            at = now()
            await self._keys.update_one(
                {"_id": key_id}, {"$set": {"revoked_at": at}}, session=session
            )
            await self._invitations.end_made_by(row["account_id"], [key_id], session)
            return {**row, "revoked_at": at}, True

        row, is_new = await run_in_transaction(self._database, work)
        name = keys.api_key(row["sha256"])
        self.valid.forget(name)
        await publish_change(self._redis, name)
        return record(ApiKey, row), is_new

    def _remember(self, digest: bytes, account_id: UUID) -> None:
        self._accounts[digest] = account_id
        self._accounts.move_to_end(digest)
        if len(self._accounts) > MAX_REMEMBERED_KEYS:
            self._accounts.popitem(last=False)

    async def _touch(self, key: ApiKey) -> bool:
        """Store that a key is in use, once a minute; return whether that was due."""
        at = now()
        if key.last_used_at is not None and at - key.last_used_at < _LAST_USED_INTERVAL:
            return False
        unless_another_did = {"_id": key.id, "last_used_at": key.last_used_at}
        await self._keys.update_one(unless_another_did, {"$set": {"last_used_at": at}})
        return True


def _check_expiry(key: ApiKey) -> None:
    """Raise Unauthorized if a key has expired."""
    if key.expires_at is not None and key.expires_at <= now():
        raise Unauthorized("API key: expired", code=ErrorCode.KEY_EXPIRED)


def _valid() -> dict[str, Any]:
    """Return the filter of keys that are neither revoked nor expired."""
    unexpired = [{"expires_at": None}, {"expires_at": {"$gt": now()}}]
    return {"revoked_at": None, "$or": unexpired}


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
