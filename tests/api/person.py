"""People with a password, and a client that sends what a browser sends from the console."""

from collections.abc import Mapping
from typing import Any

import orjson

from tests.api.client import Client, Response
from tracker.access.people import Person
from tracker.access.roles import Role
from tracker.access.sessions import Client as Browser
from tracker.ids import new_id
from tracker.service.services import Services

PASSWORD = "correct horse battery staple"
BROWSER = Browser(address="203.0.113.0/24", user_agent="a browser")


async def create_person(
    services: Services, email: str = "ada@example.com", password: str | None = None
) -> Person:
    """Store a person. Without a `password` nobody can sign in, and no time is spent on a hash."""
    hashed = await services.passwords.hash(password) if password else "no password"
    return await services.people.create(email, "Ada", hashed)


async def signed_in(
    services: Services,
    client: Client,
    account_id: Any,
    role: Role = Role.OWNER,
    password: str | None = None,
) -> "PersonClient":
    """Return the client of a new person who is signed in to an account."""
    person = await create_person(services, f"{new_id().hex}@example.com", password)
    await services.members.add(account_id, person.id, role)
    _, secret = await services.sessions.start(person.id, account_id, BROWSER)
    return PersonClient(client, secret, person)


class PersonClient:
    """A browser with a session at http://tracker.test."""

    def __init__(self, client: Client, secret: str, person: Person) -> None:
        self._client = client
        self.cookie = "session"
        self.secret = secret
        self.person = person

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
        sent: dict[str, str | bytes] = {
            "Cookie": f"{self.cookie}={self.secret}",
            "Sec_Fetch_Site": "same-origin",
            "Content_Type": "application/json",
        }
        given = {name: value for name, value in (sent | dict(headers or {})).items() if value}
        return await self._client.request(method, path, given, body)
