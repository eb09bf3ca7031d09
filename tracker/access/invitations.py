"""Invitations to an account and password resets: tokens that are used once, within a day.

A token is 32 random bytes in the fragment of a link, which browsers send to no server. Only its
SHA-256 is stored. Unknown, used, withdrawn and expired tokens get the same answer. A token ends in
the transaction that removes its maker's authority or changes its person.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tracker.access.principal import Actor
from tracker.access.roles import Role
from tracker.clock import now
from tracker.errors import ErrorCode, LimitReached, NotFound
from tracker.ids import new_id, new_secret, secret_digest
from tracker.stores.mongodb.account_lock import has_room
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession

VALID_FOR: Final = timedelta(hours=24)
MAX_OPEN_INVITATIONS: Final = 100

_TOKEN_BYTES: Final = 32


class InvitationKind(StrEnum):
    """The two uses of a token."""

    INVITATION = "invitation"
    PASSWORD_RESET = "password_reset"  # noqa: S105


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """A stored invitation or password reset, without its token.

    - An invitation has an account and a role. Only the operator may leave `email` open (None).
      Its `tags` limit the member, as `Member` has them.
    - A password reset has a person and an `email`. If a member created it, it also has the account
      and the person's role, and is valid only while both stay.
    - `without_totp` also switches the second factor off.
    """

    id: UUID = msgspec.field(default_factory=new_id)
    kind: InvitationKind
    account_id: UUID | None
    person_id: UUID | None = None
    email: str | None
    role: Role | None
    tags: list[UUID] = []
    without_totp: bool = False
    created_by: Actor
    created_at: datetime = msgspec.field(default_factory=now)
    expires_at: datetime = msgspec.field(default_factory=lambda: now() + VALID_FOR)
    used_at: datetime | None = None


class Invitations:
    """The invitations and password resets of all accounts in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._invitations = mongodb["invitations"]
        self._pages = Pages(mongodb.reads, "invitations", Invitation)

    async def create(
        self, new: Invitation, session: MongoSession, until: datetime | None = None
    ) -> tuple[Invitation, str]:
        """Store an invitation or reset; return it and its token, which is stored nowhere.

        It expires at `until` at the latest. Raises BadRequest if the account has too many.
        """
        token = new_secret("", _TOKEN_BYTES)
        invitation = replace(new, expires_at=min(new.expires_at, until or new.expires_at))
        if new.account_id is not None and not await has_room(
            self._database, "invitations", new.account_id, MAX_OPEN_INVITATIONS, session, _open({})
        ):
            rule = f"has {MAX_OPEN_INVITATIONS} open invitations, which is the limit"
            raise LimitReached(f"account_id: {rule}")
        stored = {**as_document(invitation), "sha256": secret_digest(token)}
        await self._invitations.insert_one(stored, session=session)
        return invitation, token

    async def find_open(self, token: str) -> Invitation:
        """Return the open invitation or reset of a token. Raises NotFound if there is none."""
        return _found(await self._invitations.find_one(_open({"sha256": secret_digest(token)})))

    async def use(self, token: str, session: MongoSession) -> Invitation:
        """Mark a token as used; return its invitation or reset. Raises NotFound if it is not open.

        Of two simultaneous transactions with one token, one conflicts and finds it used.
        """
        unused, used = _open({"sha256": secret_digest(token)}), {"$set": {"used_at": now()}}
        return _found(await self._invitations.find_one_and_update(unused, used, session=session))

    async def find(
        self, invitation_id: UUID, kind: InvitationKind = InvitationKind.INVITATION
    ) -> Invitation | None:
        """Return the open invitation or reset with this id; None if there is none of `kind`."""
        row = await self._invitations.find_one(_open({"_id": invitation_id, "kind": kind}))
        return None if row is None else as_struct(Invitation, row)

    async def page(
        self,
        account_id: UUID,
        page: int,
        page_size: int,
        kind: InvitationKind = InvitationKind.INVITATION,
    ) -> tuple[list[Invitation], int]:
        """Return a page of open invitations or resets, newest first, and the total."""
        matching = _open({"account_id": account_id, "kind": kind})
        return await self._pages.find(matching, page, page_size)

    async def withdraw(self, invitation: Invitation, session: MongoSession) -> None:
        """Delete an open invitation or reset. Raises NotFound if it is no longer open."""
        unused = _open({"_id": invitation.id})
        deleted = await self._invitations.delete_one(unused, session=session)
        if not deleted.deleted_count:
            raise NotFound(f"{invitation.kind.replace('_', ' ')}: not found")

    async def end_made_by(
        self, account_id: UUID, makers: Collection[UUID], session: MongoSession
    ) -> None:
        made = {"account_id": account_id, "created_by.id": {"$in": [*makers]}}
        await self._invitations.delete_many(_open(made), session=session)

    async def end_resets_of(
        self, person_id: UUID, session: MongoSession | None, *, of_accounts_only: bool = False
    ) -> None:
        """Delete a person's open password resets, or only the resets that accounts have created."""
        resets: dict[str, Any] = {"person_id": person_id, "kind": InvitationKind.PASSWORD_RESET}
        made_by_accounts = {"account_id": {"$ne": None}} if of_accounts_only else {}
        await self._invitations.delete_many(_open(resets | made_by_accounts), session=session)

    async def replaced_by(self, new: Invitation, session: MongoSession) -> list[Invitation]:
        """Return the open invitations of the same kind, account and recipient."""
        same = {"kind": new.kind, "account_id": new.account_id, "email": new.email}
        rows = self._invitations.find(_open(same), session=session)
        return [as_struct(Invitation, row) async for row in rows]


def join_url(base_url: str, token: str) -> str:
    return f"{base_url}/console/join#{token}"


def token_expired() -> NotFound:
    """Return the same error for every token that cannot be used."""
    return NotFound("link: expired, used or withdrawn", code=ErrorCode.LINK_EXPIRED)


def _open(matching: Mapping[str, Any]) -> dict[str, Any]:
    return {**matching, "used_at": None, "expires_at": {"$gt": now()}}


def _found(row: Mapping[str, Any] | None) -> Invitation:
    if row is None:
        raise token_expired()
    return as_struct(Invitation, row)
