"""Signing in: from e-mail and password to a session. Strangers learn nothing but "wrong".

An e-mail that belongs to nobody takes the same steps and the same time as one that does.
"""

from typing import Final

from msgspec.structs import replace

from tracker.access.audit import Audit, Target
from tracker.access.members import Member, Members
from tracker.access.passwords import Passwords
from tracker.access.people import People, Person
from tracker.access.principal import Actor, ActorKind
from tracker.access.sessions import Client, Session, Sessions
from tracker.access.sign_in_limit import SignInLimit, network_digest
from tracker.errors import Forbidden, Unauthorized
from tracker.metrics import SIGN_INS_REFUSED

WRONG: Final = "e-mail or password: wrong"


class SignIn:
    """The way into the console, for people who have a password."""

    def __init__(
        self,
        people: People,
        members: Members,
        passwords: Passwords,
        sessions: Sessions,
        limit: SignInLimit,
        audit: Audit,
    ) -> None:
        self._people = people
        self._members = members
        self._passwords = passwords
        self._sessions = sessions
        self._limit = limit
        self._audit = audit

    async def sign_in(self, email: str, password: str, client: Client) -> tuple[Session, str]:
        """Return a new session and its secret.

        - Raises RateLimited after too many attempts from the network or for the e-mail.
        - Raises Unauthorized if e-mail or password is wrong.
        - Raises Forbidden if the person is a member of no account.
        """
        person = await self.identify(email, password, client)
        return await self.enter(person, client)

    async def identify(self, email: str, password: str, client: Client) -> Person:
        """Return the person with this e-mail and password.

        Raises Unauthorized if one of them is wrong, RateLimited after too many attempts.
        """
        await self._limit.count_network(client.address)
        person = await self._people.find_by_email(email)
        known = person.networks if person else ()
        await self._limit.count_email(email, client.address, known)
        matches = await self._passwords.verify(person.password if person else None, password)
        if person is None or not matches:
            SIGN_INS_REFUSED.inc()
            raise Unauthorized(WRONG)
        await self._limit.forget_email(email, client.address, known)
        if self._passwords.is_outdated(person.password):
            rehashed = await self._passwords.hash(password)
            await self._people.change(person.id, {"password": rehashed})
            person = replace(person, password=rehashed)
        return person

    async def enter(self, person: Person, client: Client) -> tuple[Session, str]:
        """Return a new session of an identified person, in the account that they saw last.

        Raises Forbidden if the person is a member of no account.
        """
        members = await self._members.of_person(person.id)
        if not members:
            raise Forbidden("account: you are no longer a member of any; ask an owner for a link")
        account_id = _chosen(person, members).account_id
        session, secret = await self._sessions.start(person.id, account_id, client)
        await self._people.remember_network(person.id, network_digest(client.address))
        await self._audit.record(
            account_id,
            Actor(kind=ActorKind.MEMBER, id=person.id, name=person.label),
            "session.signed_in",
            Target(kind="session", id=session.id, name=client.user_agent[:100]),
            address=client.address,
        )
        return session, secret


def _chosen(person: Person, members: list[Member]) -> Member:
    last = (one for one in members if one.account_id == person.account_id)
    return next(last, members[0])
