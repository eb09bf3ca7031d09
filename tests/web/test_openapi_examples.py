"""Every example in `/openapi.json` is accepted by the service, and answered as described."""

from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from tests.conversions.api.reporting import form_data
from tests.factories import create_event_config, create_link, create_share, create_webhook
from tests.web.client import Client, Response
from tests.web.document import DOCUMENT, REQUESTS, assert_described
from tests.web.person import BROWSER, begin_totp, create_person, have_totp, totp_code
from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import World
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.accounts.api.join import EXAMPLE_TOKEN
from tracker.accounts.api.second_factor import EXAMPLE_CODE
from tracker.alerts.api.alerts import EXAMPLE_WEBHOOK
from tracker.clicks.api.click_schema import EXAMPLE_SLUG
from tracker.clicks.pages.sent import EXAMPLE as EXAMPLE_OF_PAGE
from tracker.conversions.api.event_schema import EXAMPLE_PBK
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.sharing.api.shared import EXAMPLE_SHARE_TOKEN
from tracker.web.schema import EXAMPLE_ACCOUNT

FOR_PEOPLE = ("/api/sign-in", "/api/session", "/api/join", "/api/shared")
KEYED = {(one.method, one.path) for one in KEYED_ENDPOINTS}
OPENING = ("/c/{slug}", "/api/click")
BODIES = [one for one in REQUESTS if one[:2] not in KEYED and one[1] not in OPENING]
"""The bodies of all other endpoints: `test_every_endpoint` sends those with a key."""


class Caller:
    """A client that sends the document's examples for an account of its own."""

    def __init__(self, client: Client, services: Services, account: Account, secret: str) -> None:
        self.client = client
        self.services = services
        self.account = account
        self.key: dict[str, str | bytes] = {"Authorization": f"Bearer {secret}"}
        self.values = {EXAMPLE_ACCOUNT: str(account.id)}

    async def send(self, method: str, path: str, media_type: str, example: Any) -> Response:
        text = example if isinstance(example, str) else orjson.dumps(example).decode()
        if media_type.endswith("urlencoded"):
            text = "&".join(f"{name}={value}" for name, value in example.items())
        if media_type == "multipart/form-data":
            text = form_data(example).decode()
            media_type += "; boundary=----x"
        for shown, real in self.values.items():
            text = text.replace(shown, real)
        headers = {**await self._credentials(path), "Content_Type": media_type}
        return await self.client.request(method, path, headers, text.encode())

    async def _credentials(self, path: str) -> dict[str, str | bytes]:
        """Return the key, or for paths of people the session of one whom the examples name."""
        if not path.startswith(FOR_PEOPLE):
            return self.key
        person = await create_person(self.services, "ada@example.com", "correct horse battery")
        await self.services.accounts.members.add(self.account.id, person.id, Role.OWNER)
        session, secret = await self.services.access.sessions.start(
            person.id, self.account.id, BROWSER
        )
        await begin_totp(self.services, person.id, session.id)
        if path.endswith("/totp/disable"):
            await have_totp(self.services, person.id)
        return {"Cookie": f"session={secret}", "Sec_Fetch_Site": "same-origin"}


@pytest.fixture
def caller(world: World) -> Caller:
    return Caller(world.client, world.services, world.account, world.secret)


@pytest.mark.parametrize(
    ("method", "path", "media_type", "example"), BODIES, ids=lambda one: str(one)[:40]
)
async def test_an_example_of_a_body_is_accepted_as_it_stands(
    caller: Caller, method: str, path: str, media_type: str, example: Any
) -> None:
    if EXAMPLE_PBK in str(example):
        config = await create_event_config(caller.services, caller.account.id)
        caller.values[EXAMPLE_PBK] = config.pbk
    if EXAMPLE_CODE in str(example):
        caller.values[EXAMPLE_CODE] = totp_code()
    if EXAMPLE_TOKEN in str(example):
        author = Author.operator(caller.account.id)
        email, role = "grace@example.com", Role.VIEWER
        _, caller.values[EXAMPLE_TOKEN] = await caller.services.accounts.membership.invite(
            author, email, role
        )
    if EXAMPLE_SHARE_TOKEN in str(example):
        report = '{"lastDays":7,"panels":[{"groupBy":"country"}]}'
        _, caller.values[EXAMPLE_SHARE_TOKEN] = await create_share(
            caller.services, caller.account.id, report=report, all_rows=True, download=True
        )
    if EXAMPLE_WEBHOOK in str(example):
        webhook = await create_webhook(caller.services, caller.account.id)
        caller.values[EXAMPLE_WEBHOOK] = str(webhook.id)
    response = await caller.send(method, path, media_type, example)
    assert response.status == 200, response.body
    assert_described(method, path, response)


async def test_the_example_of_a_short_link_opens(world: World) -> None:
    await create_link(world.services, world.account.id, EXAMPLE_SLUG)
    for target in (f"/c/{EXAMPLE_SLUG}?", f"/api/click?s={EXAMPLE_SLUG}&"):
        for method in ("GET", "HEAD"):
            response = await world.client.request(method, f"{target}utm_source=newsletter")
            assert response.status == 302
            headers = DOCUMENT["paths"]["/api/click"]["get"]["responses"]["302"]["headers"]
            assert set(headers) <= set(response.headers)


async def test_the_example_of_a_password_opens_a_link(caller: Caller) -> None:
    for method, path, media_type, example in REQUESTS:
        if path in OPENING and "password" in example:
            hashed = await caller.services.links.passwords.hash(example["password"])
            link = await create_link(caller.services, new_id(), None, password_hash=hashed)
            target = f"/c/{link.slug}" if path == "/c/{slug}" else f"/api/click?s={link.slug}"
            assert (await caller.send(method, target, media_type, example)).status == 303
            asked = await caller.client.get(target)
            assert asked.status == 401
            assert_described(method, path, asked)


async def test_the_example_of_a_page_records_a_click(world: World) -> None:
    await create_link(world.services, world.account.id, EXAMPLE_SLUG)
    for origin, status in (("https://tracker.test", 200), ("https://evil.example", 403)):
        headers = {"Content-Type": "application/json", "Origin": origin}
        body = orjson.dumps(EXAMPLE_OF_PAGE)
        answer = await world.client.request("POST", "/api/click", headers, body)
        assert answer.status == status
        assert_described("POST", "/api/click", answer)


async def test_the_example_of_a_pixel_is_recorded(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    parameters = DOCUMENT["paths"]["/api/event"]["get"]["parameters"]
    examples = {
        one["name"]: one["schema"]["examples"][0]
        for one in parameters
        if one.get("schema", {}).get("examples")
    } | {"pbk": config.pbk}
    query = urlencode(examples)
    response = await world.client.get(f"/api/event?{query}")
    assert response.status == 200
    assert_described("GET", "/api/event", response)
    answer = DOCUMENT["paths"]["/api/event"]["get"]["responses"]["200"]
    assert set(answer["headers"]) - {"X-Event-Duplicate"} <= set(response.headers)
    picture = await world.client.get(f"/api/event?{query}", Accept="image/*")
    assert picture.headers["Content-Type"] in answer["content"]
