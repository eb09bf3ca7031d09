"""The makers of invitations and password resets, and whether they may make them at this moment.

Guarantee: a link is made and used only while its maker has the authority for it. Making and using
also write the document that has the authority, a member or an API key. So they conflict with a
removal, a change of role and a revocation at the same moment, each of which writes it too.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.access.invitations import Invitation
from tracker.access.principal import Actor, ActorKind, Principal
from tracker.access.roles import SCOPES_OF, Role
from tracker.clock import now
from tracker.db.connect import Collection as MongoCollection
from tracker.db.connect import Database
from tracker.db.transaction import Session
from tracker.errors import ErrorCode, Forbidden

_SCOPE: Final = "members:write"


class _Authority(NamedTuple):
    """The scopes of somebody in an account; `ends_at` is None if they have no end of their own."""

    principal: Principal
    ends_at: datetime | None

    def covers(self, role: Role | None) -> bool:
        """Return whether a link may be made that gives `role`, or resets one who has it."""
        scopes = SCOPES_OF[role] if role else ()
        return self.principal.covers([_SCOPE]) and self.principal.covers(scopes)


class LinkMakers:
    """The present authority of members, API keys and the operator."""

    def __init__(self, database: Database) -> None:
        self._members = database["members"]
        self._api_keys = database["api_keys"]

    async def require(self, maker: Principal, role: Role, session: Session) -> datetime | None:
        """Check that a link for `role` may be made now; return when it has to end, if it has to.

        Raises Forbidden if the authority of `maker` has ended since the request was checked.
        """
        found = await self._authority(maker.account_id, maker.actor, session)
        if found is None or not found.covers(role):
            raise Forbidden(
                "account: your access has changed in the meantime", code=ErrorCode.MISSING_SCOPE
            )
        return found.ends_at

    async def may_still_make(self, link: Invitation, session: Session | None = None) -> bool:
        """Return whether the maker of a link may make it now.

        Without a `session` nothing is written, so another transaction may decide otherwise.
        """
        if link.account_id is None:
            return link.created_by.kind == ActorKind.OPERATOR
        found = await self._authority(link.account_id, link.created_by, session)
        return found is not None and found.covers(link.role)

    async def _authority(
        self, account_id: UUID, maker: Actor, session: Session | None
    ) -> _Authority | None:
        """Return the authority of `maker` in an account, None without any; write its document."""
        scopes: Collection[str] | None = None
        ends_at = None
        if maker.kind == ActorKind.MEMBER:
            member = {"account_id": account_id, "person_id": maker.id}
            if (row := await _held(self._members, member, session)) is None:
                return None
            scopes = SCOPES_OF[Role(row["role"])]
        elif maker.kind == ActorKind.API_KEY:
            valid = {"_id": maker.id, "account_id": account_id, "revoked_at": None}
            if (row := await _held(self._api_keys, valid, session)) is None:
                return None
            scopes, ends_at = row["scopes"], row["expires_at"]
        if ends_at is not None and ends_at <= now():
            return None
        return _Authority(Principal(account_id=account_id, actor=maker, scopes=scopes), ends_at)


async def _held(
    documents: MongoCollection, one: Mapping[str, Any], session: Session | None
) -> Mapping[str, Any] | None:
    """Return the document, written in the transaction of `session` if there is one."""
    if session is None:
        return await documents.find_one(one)
    return await documents.find_one_and_update(one, {"$inc": {"link_changes": 1}}, session=session)
