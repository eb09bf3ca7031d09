"""The present authority of members, API keys and the operator.

A checked request may wait for its turn, a hash or DNS before it writes, and lose its authority.

Guarantee: a transaction that calls `lock` has the authority for its writes. `lock` writes the
member and session, or the API key. So it conflicts with any simultaneous removal, revocation,
change of role or end of session. Frequent callers queue (`stores/mongodb/account_lock`), so
removals and revocations find the document free.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from msgspec.structs import replace

from tracker.access.invitations import Invitation
from tracker.access.principal import Actor, ActorKind, Author, Principal
from tracker.access.roles import SCOPES_OF, Role, scopes_of
from tracker.clock import now
from tracker.errors import ErrorCode, Forbidden
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.drivers import Collection as MongoCollection
from tracker.stores.mongodb.transaction import MongoSession

MEMBERS_SCOPE: Final = "members:write"
"""Inviting and resetting need this scope, and the scopes of the invited or reset role."""

_ENDED: Final = "account: your access has changed in the meantime"


class Authority:
    """Looks up and locks what an actor may do now."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._members = mongodb["members"]
        self._api_keys = mongodb["api_keys"]
        self._sessions = mongodb["sessions"]

    async def lock(self, author: Author, scope: str, session: MongoSession) -> Principal:
        """Return the present principal of `author`, which stays valid until the transaction ends.

        Raises Forbidden if `scope` is missing, or the session has ended.
        """
        signed_in = {"_id": author.session_id, "expires_at": {"$gt": now()}}
        if author.session_id and not await _find_and_lock(self._sessions, signed_in, session):
            raise Forbidden(_ENDED, code=ErrorCode.MISSING_SCOPE)
        found = await self._find(author.account_id, author.actor, session)
        if found is None or not found.covers([scope]):
            raise Forbidden(_ENDED, code=ErrorCode.MISSING_SCOPE)
        return found

    async def may_still_create(
        self, invitation: Invitation, session: MongoSession | None = None
    ) -> bool:
        """Return whether the creator may still create this; in a transaction, until it ends."""
        if invitation.account_id is None:
            return invitation.created_by.kind == ActorKind.OPERATOR
        found = await self._find(invitation.account_id, invitation.created_by, session)
        scopes = SCOPES_OF[invitation.role] if invitation.role else ()
        return found is not None and found.covers([MEMBERS_SCOPE]) and found.covers(scopes)

    async def _find(
        self, account_id: UUID, actor: Actor, session: MongoSession | None
    ) -> Principal | None:
        """Return the principal of `actor`, or None. In a transaction, lock its document."""
        principal = Principal(account_id=account_id, actor=actor, scopes=None)
        if actor.kind == ActorKind.OPERATOR:
            return principal
        if actor.kind == ActorKind.MEMBER:
            member = {"account_id": account_id, "person_id": actor.id}
            row = await _find_and_lock(self._members, member, session)
            if row is None:
                return None
            tags = frozenset[UUID](row.get("tags", ())) or None
            scopes = scopes_of(Role(row["role"]), tags is not None)
            return replace(principal, scopes=scopes, tags=tags)
        valid = {"_id": actor.id, "account_id": account_id, "revoked_at": None}
        row = await _find_and_lock(self._api_keys, valid, session)
        if row is None or (row["expires_at"] is not None and row["expires_at"] <= now()):
            return None
        return replace(principal, scopes=row["scopes"], expires_at=row["expires_at"])


async def _find_and_lock(
    documents: MongoCollection, one: Mapping[str, Any], session: MongoSession | None
) -> Mapping[str, Any] | None:
    if session is None:
        return await documents.find_one(one)
    return await documents.find_one_and_update(one, {"$inc": {"held": 1}}, session=session)
