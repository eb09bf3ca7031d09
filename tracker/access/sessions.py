"""Sessions of people who signed in: 32 random bytes in a cookie, their SHA-256 in MongoDB.

Every request looks up its session, role and limit, so a change takes effect at once.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec

from tracker.access import roles
from tracker.access.principal import Actor, ActorKind, Principal
from tracker.access.roles import Role
from tracker.clock import now
from tracker.errors import Unauthorized
from tracker.ids import new_id, new_secret, secret_digest
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.transaction import MongoSession

IDLE_TIMEOUT: Final = timedelta(days=14)
"""A session ends after this time without a request."""

LIFETIME: Final = timedelta(days=90)
"""A session ends after this time in any case."""

MAX_PER_PERSON: Final = 50
"""Sessions of one person; the oldest end first."""

MAX_REMEMBERED: Final = 10_000
"""Sessions that a process remembers as valid. The least recently used is dropped first."""

SESSION_ENDED: Final = "session: has ended; sign in again"

_SECRET_BYTES: Final = 32
_LAST_SEEN_INTERVAL: Final = timedelta(minutes=1)
_MAX_USER_AGENT_CHARACTERS: Final = 300


class SessionClient(msgspec.Struct, frozen=True, kw_only=True):
    """The client of a session. `counted_as`, its address for limits, is never stored or logged."""

    address: str
    user_agent: str
    counted_as: str


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A person signed in to an account, without the secret. Use postpones `expires_at`."""

    id: UUID
    person_id: UUID
    account_id: UUID
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    address: str
    user_agent: str


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """A valid session, with its person's label, role and limit in the account."""

    session: Session
    label: str
    role: Role
    tags: frozenset[UUID] = frozenset()

    @property
    def principal(self) -> Principal:
        actor = Actor(kind=ActorKind.MEMBER, id=self.session.person_id, name=self.label)
        scopes = roles.scopes_of(self.role, bool(self.tags))
        return Principal(
            account_id=self.session.account_id,
            actor=actor,
            scopes=scopes,
            session_id=self.session.id,
            tags=self.tags or None,
        )


class Sessions:
    """The sessions in MongoDB, and in memory the valid ones that this process has seen."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._sessions = mongodb["sessions"]
        self._members = mongodb["members"]
        self._valid: OrderedDict[bytes, None] = OrderedDict()

    async def start(
        self,
        person_id: UUID,
        account_id: UUID,
        client: SessionClient,
        transaction: MongoSession | None = None,
        signed_in_at: datetime | None = None,
    ) -> tuple[Session, str]:
        """Store a new session; return it and its secret, which is stored nowhere.

        The lifetime begins at `signed_in_at`, when the person gave the password (None: now).
        """
        secret = new_secret("", _SECRET_BYTES)
        at = now()
        created_at = signed_in_at or at
        session = Session(
            id=new_id(),
            person_id=person_id,
            account_id=account_id,
            created_at=created_at,
            last_seen_at=at,
            expires_at=_expiry(created_at, at),
            address=client.address,
            user_agent=client.user_agent[:_MAX_USER_AGENT_CHARACTERS],
        )
        stored = {**as_document(session), "sha256": secret_digest(secret)}
        await self._sessions.insert_one(stored, session=transaction)
        await self._end_oldest(person_id, transaction)
        await self._record_seen(session, at, transaction)
        return session, secret

    def peek(self, secret: str) -> bool:
        """Return whether this process has found the session valid before, without a look-up."""
        return secret_digest(secret) in self._valid

    async def authenticate(self, secret: str) -> SignedIn:
        """Return the session of `secret`. Raises Unauthorized if it or the membership has ended."""
        digest = secret_digest(secret)
        wanted = {"sha256": digest, "expires_at": {"$gt": now()}}
        found = [row async for row in self._sessions.aggregate(_with_role(wanted))]
        if not found:
            self._valid.pop(digest, None)
            raise Unauthorized(SESSION_ENDED)
        signed_in = _signed_in(found[0])
        self._remember(digest)
        await self._touch(signed_in.session)
        return signed_in

    async def principals_of(self, session_ids: Sequence[UUID]) -> dict[UUID, Principal]:
        """Return the principals of the valid sessions among these, by the sessions' ids."""
        if not session_ids:
            return {}
        wanted = {"_id": {"$in": list(session_ids)}, "expires_at": {"$gt": now()}}
        found = self._sessions.aggregate(_with_role(wanted))
        return {row["_id"]: _signed_in(row).principal async for row in found}

    async def of_person(
        self, person_id: UUID, transaction: MongoSession | None = None
    ) -> list[Session]:
        """Return a person's open sessions, the last used first."""
        current = {"person_id": person_id, "expires_at": {"$gt": now()}}
        rows = self._sessions.find(current, session=transaction)
        return [as_struct(Session, row) async for row in rows.sort("last_seen_at", -1)]

    async def end(self, session_id: UUID, transaction: MongoSession | None = None) -> bool:
        """End a session; return False if it had ended already."""
        ended = await self._sessions.delete_one({"_id": session_id}, session=transaction)
        return ended.deleted_count == 1

    async def end_all(self, person_id: UUID, transaction: MongoSession | None = None) -> None:
        await self._sessions.delete_many({"person_id": person_id}, session=transaction)

    async def _end_oldest(self, person_id: UUID, transaction: MongoSession | None) -> None:
        own = self._sessions.find({"person_id": person_id}, ["_id"], session=transaction)
        ended = [row["_id"] async for row in own.sort("_id", -1).skip(MAX_PER_PERSON)]
        if ended:
            await self._sessions.delete_many({"_id": {"$in": ended}}, session=transaction)

    async def _touch(self, session: Session) -> None:
        at = now()
        if at - session.last_seen_at < _LAST_SEEN_INTERVAL:
            return
        unless_another_did = {"_id": session.id, "last_seen_at": session.last_seen_at}
        seen = {"last_seen_at": at, "expires_at": _expiry(session.created_at, at)}
        await self._sessions.update_one(unless_another_did, {"$set": seen})
        await self._record_seen(session, at)

    async def _record_seen(
        self, session: Session, at: datetime, transaction: MongoSession | None = None
    ) -> None:
        member = {"account_id": session.account_id, "person_id": session.person_id}
        seen = {"$set": {"last_seen_at": at}}
        await self._members.update_one(member, seen, session=transaction)

    def _remember(self, digest: bytes) -> None:
        self._valid[digest] = None
        self._valid.move_to_end(digest)
        if len(self._valid) > MAX_REMEMBERED:
            self._valid.popitem(last=False)


def _signed_in(row: Mapping[str, Any]) -> SignedIn:
    label = row["name"] or row["email"]
    tags = frozenset(row.get("tags", ()))
    return SignedIn(session=as_struct(Session, row), label=label, role=Role(row["role"]), tags=tags)


def _expiry(created_at: datetime, used_at: datetime) -> datetime:
    return min(used_at + IDLE_TIMEOUT, created_at + LIFETIME)


_SAME_ACCOUNT: Final = {"$eq": ["$account_id", "$$account"]}
_SAME_PERSON: Final = {"$eq": ["$person_id", "$$person"]}
_MEMBER: Final = {
    "$lookup": {
        "from": "members",
        "let": {"account": "$account_id", "person": "$person_id"},
        "pipeline": [{"$match": {"$expr": {"$and": [_SAME_ACCOUNT, _SAME_PERSON]}}}],
        "as": "member",
    }
}
_PERSON: Final = {
    "$lookup": {"from": "people", "localField": "person_id", "foreignField": "_id", "as": "person"}
}


def _with_role(wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the pipeline that finds members' sessions, with name, e-mail, role and limit."""
    return [
        {"$match": wanted},
        _MEMBER,
        _PERSON,
        {"$unwind": "$member"},
        {"$unwind": "$person"},
        {"$set": {"role": "$member.role", "name": "$person.name", "email": "$person.email"}},
        {"$set": {"tags": "$member.tags"}},
        {"$unset": ["member", "person", "sha256"]},
    ]
