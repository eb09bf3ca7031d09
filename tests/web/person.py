"""People with a password, and a client that sends what a browser sends from the console."""

import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
import pyotp

from tests.web.client import Client, Response
from tracker.access.roles import Role
from tracker.access.sessions import SessionClient
from tracker.accounts.people import Person
from tracker.accounts.totp import recovery_digest
from tracker.ids import new_id
from tracker.service.services import Services

PASSWORD = "correct horse battery staple"
TOTP_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
BROWSER = SessionClient(address="203.0.113.0/24", user_agent="a browser", counted_as="203.0.113.7")


async def create_person(
    services: Services, email: str = "ada@example.com", password: str | None = None
) -> Person:
    """Store a person. Without a `password` nobody can sign in, and no time is spent on a hash."""
    hashed = await services.accounts.passwords.hash(password) if password else "no password"
    return await services.accounts.people.create(email, "Ada", hashed)


async def stored_again(services: Services, person: Person) -> Person:
    found = await services.accounts.people.find(person.id)
    assert found is not None
    return found


async def signed_in(
    services: Services,
    client: Client,
    account_id: Any,
    role: Role = Role.OWNER,
    password: str | None = None,
    tags: Sequence[UUID] = (),
) -> "PersonClient":
    """Return the client of a new person who is signed in to an account, maybe limited to tags."""
    person = await create_person(services, f"{new_id().hex}@example.com", password)
    await services.accounts.members.add(account_id, person.id, role, tags=tags)
    _, secret = await services.access.sessions.start(person.id, account_id, BROWSER)
    return PersonClient(client, secret, person)


def totp_code(steps: int = 0) -> str:
    """Return the code that an app with TOTP_SECRET shows; the one after it with `steps` of 1."""
    return pyotp.TOTP(TOTP_SECRET).at(time.time(), counter_offset=steps)


async def begin_totp(services: Services, person_id: UUID, session_id: UUID) -> None:
    """Let TOTP_SECRET wait for its first code in a session."""
    waiting = {"new_totp": TOTP_SECRET, "new_totp_session": session_id}
    await services.accounts.people.change(person_id, waiting)


async def have_totp(services: Services, person_id: UUID, *recovery_codes: str) -> None:
    """Give a person a second factor with TOTP_SECRET."""
    digests = [recovery_digest(person_id, one) for one in recovery_codes]
    await services.accounts.people.change(
        person_id, {"totp": TOTP_SECRET, "recovery_codes": digests}
    )


class PersonClient:
    """A browser with a session at http://tracker.test."""

    def __init__(self, client: Client, secret: str, person: Person) -> None:
        self._client = client
        self.cookie = "session"
        self.secret = secret
        self.person = person

    @property
    def fields(self) -> dict[str, str]:
        """The header fields with which a page of the console sends a request."""
        return {
            "Cookie": f"{self.cookie}={self.secret}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json",
        }

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str | bytes] | None = None,
    ) -> Response:
        """Send a request as a page of the console does; `headers` replace those of the page."""
        return await self.send_raw(
            method, path, b"" if body is None else orjson.dumps(body), headers
        )

    async def send_raw(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str | bytes] | None = None,
    ) -> Response:
        """Send a request with exactly this body."""
        sent = {name.replace("-", "_"): value for name, value in self.fields.items()}
        given = {name: value for name, value in (sent | dict(headers or {})).items() if value}
        return await self._client.request(method, path, given, body)
