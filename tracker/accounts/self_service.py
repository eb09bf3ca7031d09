"""People's changes of their own sessions, password and name, each with audit entries.

A new session has a new secret. Switching accounts does not prolong its lifetime. New credentials
end every other session, in one transaction.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tracker.access.audit import FieldChange
from tracker.access.passwords import check_new_password
from tracker.access.principal import Author
from tracker.access.sessions import SESSION_ENDED, Session, SessionClient
from tracker.accounts.identity import Identity
from tracker.accounts.sign_in import SigningIn, session_object
from tracker.errors import BadRequest, Forbidden, NotFound, Unauthorized
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

CURRENT_PASSWORD = "current_password"  # noqa: S105


class Requester(NamedTuple):
    """The person of a request, with its session. A session that replaces it gets `client`."""

    session: Session
    author: Author
    client: SessionClient


class SelfService:
    """Sessions, passwords and names, as their own people change them."""

    def __init__(self, identity: Identity, sign_in: SigningIn) -> None:
        self._identity = identity
        self._sign_in = sign_in

    async def switch(self, requester: Requester, account_id: UUID) -> tuple[Session, str]:
        """Return a new session in another account, and its secret; the old one ends."""
        old = requester.session

        async def work(transaction: MongoSession) -> tuple[Session, str]:
            if not await self._identity.members.find_person(account_id, old.person_id, transaction):
                raise Forbidden("accountId: you are not a member of this account")
            if not await self._end(requester, old, transaction):
                raise Unauthorized(SESSION_ENDED)
            started = await self._identity.sessions.start(
                old.person_id, account_id, requester.client, transaction, old.created_at
            )
            await self._identity.people.change(
                old.person_id, {"account_id": account_id}, transaction
            )
            await self._record(requester, "session.signed_in", started[0], transaction)
            return started

        return await run_in_transaction(self._identity.database, work)

    async def end(self, requester: Requester, session_id: UUID) -> None:
        async def work(transaction: MongoSession) -> None:
            own = await self._identity.sessions.of_person(requester.session.person_id, transaction)
            found = next((one for one in own if one.id == session_id), None)
            if found is None or not await self._end(requester, found, transaction):
                raise NotFound("session: not found")

        await run_in_transaction(self._identity.database, work)

    async def end_others(self, requester: Requester) -> None:
        async def work(transaction: MongoSession) -> None:
            own = await self._identity.sessions.of_person(requester.session.person_id, transaction)
            for one in own:
                if one.id != requester.session.id:
                    await self._end(requester, one, transaction)

        await run_in_transaction(self._identity.database, work)

    async def change_password(
        self, requester: Requester, current: str, new: str
    ) -> tuple[Session, str]:
        """Set a new password and end every session; return a new one, and its secret."""
        check_new_password(new, "new_password")
        person = await self._sign_in.confirm(
            requester.session, CURRENT_PASSWORD, current, requester.client
        )
        hashed = await self._identity.passwords.hash(new)

        async def work(transaction: MongoSession) -> tuple[Session, str]:
            if not await self._identity.people.change_password(person, hashed, transaction):
                raise BadRequest(f"{CURRENT_PASSWORD}: wrong")
            return await self.renew(requester, "password.changed", transaction)

        return await run_in_transaction(self._identity.database, work)

    async def renew(
        self,
        requester: Requester,
        action: str,
        transaction: MongoSession,
        changes: Mapping[str, FieldChange] | None = None,
        signed_in_at: datetime | None = None,
    ) -> tuple[Session, str]:
        """Record `action`, and end every session of the person; return a new one and its secret.

        It dates from `signed_in_at` (None: now). Raises Unauthorized if the old session has ended.
        """
        old = requester.session
        if not await self._identity.sessions.end(old.id, transaction):
            raise Unauthorized(SESSION_ENDED)
        await self._identity.sessions.end_all(old.person_id, transaction=transaction)
        author = requester.author
        await self._identity.record_for_person(
            author.actor, author.address, action, transaction, changes
        )
        return await self._identity.sessions.start(
            old.person_id, old.account_id, requester.client, transaction, signed_in_at
        )

    async def rename(self, requester: Requester, name: str) -> None:
        async def work(transaction: MongoSession) -> None:
            person = await self._identity.people.find(requester.session.person_id, transaction)
            if person is None or person.name == name:
                return
            await self._identity.people.change(person.id, {"name": name}, transaction)
            author = requester.author
            changes = {"name": FieldChange(before=person.name, after=name)}
            await self._identity.record_for_person(
                author.actor, author.address, "person.changed", transaction, changes
            )

        await run_in_transaction(self._identity.database, work)

    async def _end(self, requester: Requester, session: Session, transaction: MongoSession) -> bool:
        """End and audit a session; return False if it had ended already."""
        ended = await self._identity.sessions.end(session.id, transaction)
        if ended:
            await self._record(requester, "session.signed_out", session, transaction)
        return ended

    async def _record(
        self, requester: Requester, action: str, session: Session, transaction: MongoSession
    ) -> None:
        """Record a change of a session in the log of the session's account."""
        author = requester.author._replace(account_id=session.account_id)
        target = session_object(session)
        await self._identity.audit.record(author, action, target, session=transaction)
