"""Invitations, roles, removals and password resets of an account's members.

The API and the operator's script call this. One transaction checks the author's authority, and
stores the change and its audit entry. A role above the author's scopes is Forbidden.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

from tracker.access.audit import AuditObject, FieldChange
from tracker.access.authority import MEMBERS_SCOPE
from tracker.access.invitations import Invitation, InvitationKind
from tracker.access.principal import OPERATOR, Author
from tracker.access.roles import SCOPES_OF, Role
from tracker.accounts.identity import Identity
from tracker.accounts.members import ALREADY_MEMBER, Member
from tracker.accounts.people import Person
from tracker.errors import BadRequest, ErrorCode, Forbidden, NotFound
from tracker.links.tags import Tags
from tracker.stores.mongodb.account_lock import run_in_turn
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

Stored = TypeVar("Stored")

_NOT_HERE_ALONE: Final = (
    "member: belongs to other accounts too, so only the operator may reset the password"
)
_ANYONE: Final = "anyone with the link"
"""The name of an open invitation in the audit log."""


class Membership:
    """Changes members and invitations, each with its audit entry."""

    def __init__(self, identity: Identity, tags: Tags) -> None:
        self._identity = identity
        self._tags = tags

    async def invite(
        self, author: Author, email: str | None, role: Role, tags: Sequence[UUID] = ()
    ) -> tuple[Invitation, str]:
        """Replace an earlier invitation of the person; return the new one and its token."""
        limit = await self._limit_change(author.account_id, role, (), tags)
        new = Invitation(
            kind=InvitationKind.INVITATION,
            account_id=author.account_id,
            email=email,
            role=role,
            tags=list(tags),
            created_by=author.actor,
        )

        members = self._identity.members

        async def work(session: MongoSession) -> tuple[Invitation, str]:
            until = await self._require(author, session, role)
            person = email and await self._identity.people.find_by_email(email, session)
            if person and await members.find_person(author.account_id, person.id, session):
                raise BadRequest(ALREADY_MEMBER, code=ErrorCode.ALREADY_TAKEN)
            for earlier in await self._identity.invitations.replaced_by(new, session):
                await self._withdraw(author, earlier, session)
            made = await self._identity.invitations.create(new, session, until)
            granted = {"role": FieldChange(before=None, after=role), **limit}
            target = _invitation_object(made[0])
            await self._identity.audit.record(
                author, "invitation.created", target, granted, session
            )
            return made

        return await run_in_turn(self._identity.database, author.account_id, work)

    async def withdraw(self, author: Author, invitation: Invitation) -> None:
        """Withdraw an open invitation or password reset."""
        await run_in_transaction(
            self._identity.database, lambda session: self._withdraw(author, invitation, session)
        )

    async def change_role(
        self,
        author: Author,
        member_id: UUID,
        new_role: Role | None,
        new_tags: Sequence[UUID] | None = None,
    ) -> Member:
        """Change a member's role and limit, unless None, and end the member's sessions."""

        async def work(session: MongoSession) -> Member:
            member = _found("member", await self._identity.members.find(member_id, session))
            role = member.role if new_role is None else new_role
            tags = member.tags if new_tags is None else new_tags
            await self._require(author, session, member.role, role)
            changes = await self._limit_change(member.account_id, role, member.tags, tags)
            if member.role != role:
                changes["role"] = FieldChange(before=member.role, after=role)
            if not changes:
                return member
            changed = await self._identity.members.change_role(member, role, session, tags)
            target = await self._member_object(member, session)
            await self._identity.audit.record(
                author, "member.role_changed", target, changes, session
            )
            return changed

        return await run_in_turn(self._identity.database, author.actor.queue_key, work)

    async def remove(self, author: Author, member_id: UUID) -> None:
        """Remove a member from the account, and end the member's sessions there."""

        async def work(session: MongoSession) -> None:
            member = _found("member", await self._identity.members.find(member_id, session))
            await self._require(author, session, member.role)
            await self._identity.members.remove(member, session)
            taken = {"role": FieldChange(before=member.role, after=None)}
            target = await self._member_object(member, session)
            await self._identity.audit.record(author, "member.removed", target, taken, session)

        # Not in the account's queue: other requests must not delay it.
        await run_in_transaction(self._identity.database, work)

    async def reset_password(self, author: Author, member_id: UUID) -> tuple[Invitation, str]:
        """Create a password reset for a member of no other account; return it and its token."""

        async def work(session: MongoSession) -> tuple[Invitation, str]:
            member = _found("member", await self._identity.members.find(member_id, session))
            until = await self._require(author, session, member.role)
            # The author would get into the person's other accounts.
            if await self._identity.members.of_person(member.person_id, session) != [member]:
                raise Forbidden(_NOT_HERE_ALONE)
            locked = await self._identity.people.lock(member.person_id, session)
            person = _found("person", locked)
            new = Invitation(
                kind=InvitationKind.PASSWORD_RESET,
                account_id=member.account_id,
                person_id=person.id,
                email=person.email,
                role=member.role,
                created_by=author.actor,
            )
            return await self._create_reset(author, new, [member], session, until)

        return await run_in_turn(self._identity.database, author.account_id, work)

    async def reset_password_as_operator(
        self, person: Person, without_totp: bool = False
    ) -> tuple[Invitation, str]:
        """Create a password reset for any person; return it and its token.

        All accounts of the person log it. `without_totp` also switches the second factor off.
        """
        new = Invitation(
            kind=InvitationKind.PASSWORD_RESET,
            account_id=None,
            person_id=person.id,
            email=person.email,
            role=None,
            without_totp=without_totp,
            created_by=OPERATOR,
        )

        async def work(session: MongoSession) -> tuple[Invitation, str]:
            _found("person", await self._identity.people.lock(person.id, session))
            members = await self._identity.members.of_person(person.id, session)
            return await self._create_reset(None, new, members, session)

        return await run_in_transaction(self._identity.database, work)

    async def _limit_change(
        self, account_id: UUID, role: Role, before: Sequence[UUID], after: Sequence[UUID]
    ) -> dict[str, FieldChange]:
        """Return the change of a limit to tags for the audit log, empty if there is none."""
        if role == Role.OWNER and after:
            raise BadRequest("tags: an owner cannot be limited")
        found = await self._tags.find({*before, *after})
        for one in {*after} - {*before}:
            if one not in found or found[one].account_id != account_id:
                raise NotFound(f"tags: not found: {one}")
        if {*before} == {*after}:
            return {}
        names = [
            ", ".join(found[one].name if one in found else "a deleted tag" for one in ids) or None
            for ids in (before, after)
        ]
        return {"tags": FieldChange(before=names[0], after=names[1])}

    async def _require(
        self, author: Author, session: MongoSession, *roles: Role
    ) -> datetime | None:
        """Lock the author's authority to change `roles`; return when it expires, if it does."""
        present = await self._identity.authority.lock(author, MEMBERS_SCOPE, session)
        for role in roles:
            if not present.covers(SCOPES_OF[role]):
                message = f"role: {role} has scopes that you lack"
                raise Forbidden(message, code=ErrorCode.MISSING_SCOPE)
        return present.expires_at

    async def _create_reset(
        self,
        author: Author | None,
        new: Invitation,
        members: Sequence[Member],
        session: MongoSession,
        until: datetime | None = None,
    ) -> tuple[Invitation, str]:
        for earlier in await self._identity.invitations.replaced_by(new, session):
            await self._identity.invitations.withdraw(earlier, session)
        made = await self._identity.invitations.create(new, session, until)
        for member in members:
            by = author or Author.operator(member.account_id)
            target = await self._member_object(member, session)
            await self._identity.audit.record(by, "password_reset.created", target, session=session)
        return made

    async def _withdraw(
        self, author: Author, invitation: Invitation, session: MongoSession
    ) -> None:
        await self._identity.invitations.withdraw(invitation, session)
        if invitation.kind == InvitationKind.INVITATION:
            action, target = "invitation.withdrawn", _invitation_object(invitation)
        else:
            action = "password_reset.withdrawn"
            target = await self._reset_object(invitation, session)
        await self._identity.audit.record(author, action, target, session=session)

    async def _reset_object(self, reset: Invitation, session: MongoSession) -> AuditObject:
        account_id, person_id = reset.account_id, reset.person_id
        assert account_id is not None
        assert person_id is not None
        member = await self._identity.members.find_person(account_id, person_id, session)
        member_id = None if member is None else member.id
        return AuditObject(kind="member", id=member_id, name=reset.email or _ANYONE)

    async def _member_object(self, member: Member, session: MongoSession) -> AuditObject:
        person = await self._identity.people.find(member.person_id, session)
        return member_object(member, _found("person", person))


def member_object(member: Member, person: Person) -> AuditObject:
    return AuditObject(kind="member", id=member.id, name=person.email)


def _found(name: str, stored: Stored | None) -> Stored:
    if stored is None:
        raise NotFound(f"{name}: not found")
    return stored


def _invitation_object(invitation: Invitation) -> AuditObject:
    return AuditObject(kind="invitation", id=invitation.id, name=invitation.email or _ANYONE)
