"""Requests of people who sign in."""

import re

import orjson

from tests.web.client import Client, Response
from tests.web.person import BROWSER, PASSWORD, PersonClient
from tracker.accounts.accounts import Account
from tracker.service.services import Services

FROM_CONSOLE: dict[str, str | bytes] = {
    "Sec_Fetch_Site": "same-origin",
    "Content_Type": "application/json",
}


async def sign_in(client: Client, email: str, password: str = PASSWORD, **headers: str) -> Response:
    body = orjson.dumps({"email": email, "password": password})
    return await client.request("POST", "/api/sign-in", {**FROM_CONSOLE, **headers}, body)


def secret_in(response: Response) -> str:
    match = re.match(r"session=([\w-]{43});", response.headers["Set-Cookie"])
    assert match is not None
    return match[1]


CROSS_SITE = {
    "a page elsewhere": {"Sec_Fetch_Site": "cross-site"},
    "a sibling domain": {"Sec_Fetch_Site": "same-site"},
    "a typed address": {"Sec_Fetch_Site": "none"},
    "an old browser, elsewhere": {"Sec_Fetch_Site": "", "Origin": "https://evil.example"},
    "a sandboxed page": {"Sec_Fetch_Site": "", "Origin": "null"},
    "another port": {"Sec_Fetch_Site": "", "Origin": "http://tracker.test:81"},
    "another scheme": {"Sec_Fetch_Site": "", "Origin": "https://tracker.test"},
    "no browser": {"Sec_Fetch_Site": ""},
    "a contradiction": {"Sec_Fetch_Site": "same-origin", "Origin": "https://evil.example"},
    "another host": {"Host": "go.example.com"},
}


async def another_browser(
    services: Services, client: Client, person: PersonClient, account: Account
) -> PersonClient:
    """Return the client of the same person in a browser that signed in later."""
    _, secret = await services.access.sessions.start(person.person.id, account.id, BROWSER)
    return PersonClient(client, secret, person.person)


async def audited(services: Services, account: Account) -> list[str]:
    entries = services.stores.mongodb["audit"].find({"account_id": account.id}, ["action"])
    return [one["action"] async for one in entries.sort("_id", 1)]
