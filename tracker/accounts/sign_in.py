"""Signing in: from e-mail and password to a session. Strangers learn nothing but "wrong".

An unknown e-mail takes the same steps and time. Beyond the limits only the right password, from a
known network of its person, is accepted.
"""

import asyncio
import time
from contextlib import suppress
from typing import Final

import structlog
from msgspec.structs import replace

from tracker.access.audit import AuditObject
from tracker.access.principal import Author
from tracker.access.sessions import Session, SessionClient
from tracker.accounts.identity import Identity
from tracker.accounts.people import Person
from tracker.accounts.second_factor import WRONG_CODE, SecondFactor
from tracker.accounts.sign_in_limit import SignInLimit, is_known_network, network_digest
from tracker.errors import BadRequest, Forbidden, Unauthorized, Unavailable
from tracker.metrics import SIGN_INS_REFUSED
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

log = structlog.get_logger(__name__)

WRONG_CREDENTIALS: Final = "e-mail or password: wrong"
REFUSED_AFTER_SECONDS: Final = 1.0
"""The time of a refusal beyond the limits. It hides whether a password was checked."""

_NAME_CHARACTERS: Final = 100


class SigningIn:
    """Checks credentials and starts sessions."""

    def __init__(self, identity: Identity, limit: SignInLimit, second_factor: SecondFactor) -> None:
        self._identity = identity
        self._limit = limit
        self._second_factor = second_factor

    async def identify(
        self, email: str, password: str, client: SessionClient, code: str | None = None
    ) -> Person:
        """Return the person with these credentials. Codes share the passwords' limits.

        Raises Unauthorized if one of them is wrong.
        """
        person = await self._identity.people.find_by_email(email)
        if not await self._matches(email, person, password, client) or person is None:
            raise Unauthorized(WRONG_CREDENTIALS)
        await self._second_factor.check(person, code, client.address)
        await self._limit.forget_reserve(person, client)
        return await self._with_current_hash(person, password)

    async def check_code(self, person: Person, code: str | None, client: SessionClient) -> None:
        """Check the second factor of a person who resets the password."""
        if not person.has_totp:
            return
        refusal = await self._limit.count_email(person.email)
        if refusal is not None and not await self._has_reserve(person, client):
            raise refusal.error()
        await self._second_factor.check(person, code, client.address)
        await self._limit.forget_reserve(person, client)

    async def confirm(
        self,
        session: Session,
        field: str,
        password: str,
        client: SessionClient,
        code: str | None = None,
    ) -> Person:
        """Check the password that a session's person has typed again; return the person.

        A stolen session allows no more guesses than a stranger has. Raises BadRequest if one is
        wrong.
        """
        person = await self._identity.people.find(session.person_id)
        email = person.email if person else ""
        if not await self._matches(email, person, password, client) or person is None:
            raise BadRequest(f"{field}: wrong")
        if person.has_totp:
            if code is None:
                return person  # half of the proof: it gives no guesses of the other half back
            if not await self._second_factor.accepts(person, code, client.address):
                raise BadRequest(WRONG_CODE)
        await self._limit.forget_reserve(person, client)
        return person

    async def start_session(self, person: Person, client: SessionClient) -> tuple[Session, str]:
        """Start a session of an identified person, in the last used account."""

        async def work(transaction: MongoSession) -> tuple[Session, str]:
            member = await self._identity.members.last_used(person, transaction)
            if member is None:
                raise Forbidden(
                    "account: you are no longer a member of any; ask an owner for a link"
                )
            network = network_digest(client.address)
            if not await self._identity.people.record_sign_in(person, network, transaction):
                raise Unauthorized(WRONG_CREDENTIALS)
            session, secret = await self._identity.sessions.start(
                person.id, member.account_id, client, transaction
            )
            author = Author(member.account_id, person.actor, client.address)
            await self._identity.audit.record(
                author, "session.signed_in", session_object(session), session=transaction
            )
            return session, secret

        return await run_in_transaction(self._identity.database, work)

    async def _matches(
        self, email: str, person: Person | None, password: str, client: SessionClient
    ) -> bool:
        """Count an attempt; return whether the password is right.

        Beyond the limits it raises the same RateLimited after the same time, checked or not.
        """
        began = time.monotonic()
        refusal = await self._limit.count(email, client)
        if refusal is None:
            return await self._verify(person, password, client)
        if person is not None and await self._has_reserve(person, client):
            with suppress(Unavailable):
                if await self._verify(person, password, client):
                    return True
        await asyncio.sleep(began + REFUSED_AFTER_SECONDS - time.monotonic())
        raise refusal.error()

    async def _has_reserve(self, person: Person, client: SessionClient) -> bool:
        """Count an attempt in the network's reserve; return whether the reserve allows it."""
        return is_known_network(person, client) and not await self._limit.count_reserve(
            person, client
        )

    async def _verify(self, person: Person | None, password: str, client: SessionClient) -> bool:
        if await self._identity.passwords.verify(person.password if person else None, password):
            return True
        SIGN_INS_REFUSED.inc()
        person_id = str(person.id) if person else None
        log.info("sign-in refused", why="password", person_id=person_id, network=client.address)
        return False

    async def _with_current_hash(self, person: Person, password: str) -> Person:
        """Return the person, after replacing a hash that was made with other parameters."""
        if not self._identity.passwords.is_outdated(person.password):
            return person
        rehashed = await self._identity.passwords.hash(password)
        await self._identity.people.rehash(person, rehashed)
        return replace(person, password=rehashed)


def session_object(session: Session) -> AuditObject:
    """Return a session as an audit object, named by its browser."""
    return AuditObject(kind="session", id=session.id, name=session.user_agent[:_NAME_CHARACTERS])
