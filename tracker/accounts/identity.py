"""The stores that signing in, joining and people's own changes share."""

from collections.abc import Mapping
from typing import NamedTuple

from tracker.access.audit import Audit, AuditObject, FieldChange
from tracker.access.authority import Authority
from tracker.access.invitations import Invitations
from tracker.access.passwords import Passwords
from tracker.access.principal import Actor, Author
from tracker.access.sessions import Sessions
from tracker.accounts.members import Members
from tracker.accounts.people import People
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession


class Identity(NamedTuple):
    """The stores of people, memberships and credentials, all in one database."""

    database: Database
    people: People
    members: Members
    invitations: Invitations
    authority: Authority
    passwords: Passwords
    sessions: Sessions
    audit: Audit

    async def record_for_person(
        self,
        actor: Actor,
        address: str,
        action: str,
        transaction: MongoSession,
        changes: Mapping[str, FieldChange] | None = None,
    ) -> None:
        """Record a person's own action in the audit log of each of their accounts."""
        assert actor.id is not None
        target = AuditObject(kind="person", id=actor.id, name=actor.name)
        for member in await self.members.of_person(actor.id, transaction):
            author = Author(member.account_id, actor, address)
            await self.audit.record(author, action, target, changes, transaction)
