"""Access to the endpoints that are for people only."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple
from uuid import UUID

import orjson
import pytest

from tests.web.client import Response
from tests.web.each import each
from tests.web.ends import OF_PEOPLE, End, Holder
from tests.web.held import held
from tests.web.person import BROWSER, PersonClient, begin_totp, have_totp, totp_code
from tests.web.table import PEOPLES_ENDPOINTS
from tests.web.world import World
from tracker.access.roles import Role
from tracker.access.session_cookie import SAFE_METHODS
from tracker.accounts.api.second_factor import EXAMPLE_CODE
from tracker.ids import new_id
from tracker.web.endpoint import Endpoint


class Visit(NamedTuple):
    """A person's request for an endpoint that is for people only, and the person's member."""

    person: PersonClient
    endpoint: Endpoint
    path: str
    body: bytes

    async def send(self, headers: Mapping[str, str] | None = None) -> Response:
        return await self.person.send_raw(self.endpoint.method, self.path, self.body, headers)


async def visit(world: World, endpoint: Endpoint) -> Visit:
    example = endpoint.example
    password = (example or {}).get("current_password") or (example or {}).get("password")
    person = await world.person(Role.VIEWER, password)
    person_id = person.person.id
    [own] = await world.services.access.sessions.of_person(person_id)
    other, _ = await world.services.access.sessions.start(person_id, world.account.id, BROWSER)
    fields = None if example is None else {**example}
    if example == {"code": EXAMPLE_CODE}:
        await begin_totp(world.services, person_id, own.id)
        fields = {"code": totp_code()}
    if endpoint.path.endswith("/disable"):
        await have_totp(world.services, person_id)
        fields = {**fields, "code": totp_code()} if fields else None
    if fields == {}:
        fields["accountId"] = str(world.account.id)
    body = b"" if fields is None else orjson.dumps(fields)
    return Visit(person, endpoint, endpoint.path.replace("{id}", str(other.id)), body)


@asynccontextmanager
async def without(world: World, collection: str, person_id: UUID) -> AsyncIterator[None]:
    """Take the person's documents away for a while."""
    stored, owned = world.services.stores.mongodb[collection], {"person_id": person_id}
    documents = await stored.find(owned).to_list(None)
    await stored.delete_many(owned)
    yield
    await stored.insert_many(documents)


@each(PEOPLES_ENDPOINTS)
async def test_only_the_person_has_access_to_what_is_theirs(
    world: World, endpoint: Endpoint
) -> None:
    own = await visit(world, endpoint)
    key = f"Bearer {await world.key(world.account)}"
    assert (await own.person.send("GET", "/api/session")).status == 200
    before = await world.stored()
    for headers, status in (
        ({"Cookie": ""}, 401),
        ({"Cookie": "session=" + "A" * 43}, 401),
        ({"Authorization": key}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Host": "go.example.com"}, 403),
        *([] if endpoint.method in SAFE_METHODS else [({"Content_Type": "text/plain"}, 400)]),
    ):
        response = await own.send(headers)
        assert (response.status, bool(response.error)) == (status, True), headers
        assert await world.stored() == before
    for collection in ("sessions", "members"):
        async with without(world, collection, own.person.person.id):
            assert (await own.send()).status == 401
        assert await world.stored() == before
    answer = await own.send()
    assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")


@each(one for one in PEOPLES_ENDPOINTS if one.id_names)
async def test_what_belongs_to_another_person_is_not_found(
    world: World, endpoint: Endpoint
) -> None:
    theirs = await visit(world, endpoint)
    stranger = await world.person()
    before = await world.stored()
    for path in (theirs.path, endpoint.path.replace("{id}", str(new_id()))):
        answer = await stranger.send_raw(endpoint.method, path, theirs.body)
        assert (answer.status, answer.error) == (404, "session: not found")
    assert await world.stored() == before


@pytest.mark.parametrize("end", OF_PEOPLE)
@each(PEOPLES_ENDPOINTS)
async def test_a_session_that_ends_before_the_last_byte_changes_nothing(
    world: World, endpoint: Endpoint, end: End
) -> None:
    own = await visit(world, endpoint)
    fields = own.person.fields
    async with held(world.client, endpoint.method, own.path, fields, own.body) as finish:
        await end(Holder(world, own.person.person.id, fields))
        before = await world.stored()
        assert (await finish()).status == 401
    assert await world.stored() == before
