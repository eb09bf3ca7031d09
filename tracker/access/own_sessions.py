"""The changes that people make to their own sessions and password, each with its audit entries.

Guarantees:

- Another session always has another secret. Switching accounts does not prolong the lifetime that
  began with the password.
- A change of the password ends every other session, in one transaction. A sign-in with the old
  password at the same moment conflicts with it (`People.record_sign_in`).
"""

from typing import NamedTuple
from uuid import UUID

from tracker.access.audit import Audit, Target
from tracker.access.members import Members
from tracker.access.passwords import Passwords, check_new_password
from tracker.access.people import People
from tracker.access.principal import Actor
from tracker.access.sessions import ENDED, Client, Session, Sessions
from tracker.access.sign_in import SignIn, session_target
from tracker.db.connect import Database
from tracker.db.transaction import Session as Transaction
from tracker.db.transaction import run_in_transaction
from tracker.errors import BadRequest, Forbidden, NotFound, Unauthorized

CURRENT_PASSWORD = "current_password"  # noqa: S105
"""The field with the password that the person has until now."""


class Holder(NamedTuple):
    """The person of a request with a session, and the truncated address of the request."""

    session: Session
    actor: Actor
    address: str

    @property
    def client(self) -> Client:
        """Return the client of a session that takes the place of this one."""
        return Client(address=self.address, user_agent=self.session.user_agent)


class OwnSessions:
    """The changes of sessions and passwords by their own people."""

    def __init__(
        self,
        database: Database,
        people: People,
        members: Members,
        passwords: Passwords,
        sessions: Sessions,
        sign_in: SignIn,
        audit: Audit,
    ) -> None:
        self._database = database
        self._people = people
        self._members = members
        self._passwords = passwords
        self._sessions = sessions
        self._sign_in = sign_in
        self._audit = audit

    async def switch(self, holder: Holder, account_id: UUID) -> tuple[Session, str]:
        """Return a new session in another account of the person, and its secret; the old one ends.

        Raises Forbidden if the person is not a member of the account, Unauthorized if the old
        session has ended in the meantime.
        """
        old = holder.session

        async def work(transaction: Transaction) -> tuple[Session, str]:
            if not await self._members.find_person(account_id, old.person_id, transaction):
                raise Forbidden("accountId: you are not a member of this account")
            if not await self._end(holder, old, transaction):
                raise Unauthorized(ENDED)
            started = await self._sessions.start(
                old.person_id, account_id, holder.client, transaction, old.created_at
            )
            await self._people.change(old.person_id, {"account_id": account_id}, transaction)
            await self._record(holder, "session.signed_in", started[0], transaction)
            return started

        return await run_in_transaction(self._database, work)

    async def end(self, holder: Holder, session_id: UUID) -> None:
        """End one session of the person, which may be that of the request.

        Raises NotFound if the person has no such session.
        """

        async def work(transaction: Transaction) -> None:
            own = await self._sessions.of_person(holder.session.person_id, transaction)
            found = next((one for one in own if one.id == session_id), None)
            if found is None or not await self._end(holder, found, transaction):
                raise NotFound("session: not found")

        await run_in_transaction(self._database, work)

    async def end_others(self, holder: Holder) -> None:
        """End every session of the person but that of the request."""

        async def work(transaction: Transaction) -> None:
            own = await self._sessions.of_person(holder.session.person_id, transaction)
            for one in own:
                if one.id != holder.session.id:
                    await self._end(holder, one, transaction)

        await run_in_transaction(self._database, work)

    async def change_password(self, holder: Holder, current: str, new: str) -> tuple[Session, str]:
        """Set a new password and end every session; return a new one, and its secret.

        Raises BadRequest if the new password breaks a rule or the current one is wrong,
        RateLimited after too many attempts.
        """
        check_new_password(new, "new_password")
        old = holder.session
        person = await self._sign_in.confirm(old, CURRENT_PASSWORD, current, holder.address)
        hashed = await self._passwords.hash(new)
        target = Target(kind="person", id=person.id, name=person.label)

        async def work(transaction: Transaction) -> tuple[Session, str]:
            if not await self._people.replace_password(person, hashed, transaction):
                raise BadRequest(f"{CURRENT_PASSWORD}: wrong")
            await self._sessions.end_all(person.id, transaction=transaction)
            await self._audit.record(
                *(old.account_id, holder.actor, "password.changed", target),
                address=holder.address,
                session=transaction,
            )
            return await self._sessions.start(person.id, old.account_id, holder.client, transaction)

        return await run_in_transaction(self._database, work)

    async def _end(self, holder: Holder, session: Session, transaction: Transaction) -> bool:
        """End a session; return False, and record nothing, if it had ended already."""
        ended = await self._sessions.end(session.id, transaction)
        if ended:
            await self._record(holder, "session.signed_out", session, transaction)
        return ended

    async def _record(
        self, holder: Holder, action: str, session: Session, transaction: Transaction
    ) -> None:
        """Record a change of a session in the log of the account that it is for."""
        await self._audit.record(
            session.account_id,
            holder.actor,
            action,
            session_target(session),
            address=holder.address,
            session=transaction,
        )
