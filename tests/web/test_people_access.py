"""Access with the session of a person: to every endpoint of the table, by role, and to those that
are for people only."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import orjson
import pytest

from tests.web.client import Response
from tests.web.each import each
from tests.web.held import held
from tests.web.person import (
    BROWSER,
    PersonClient,
    begin_totp,
    have_totp,
    signed_in,
    totp_code,
)
from tests.web.table import KEYED_ENDPOINTS, PEOPLES_ENDPOINTS
from tests.web.world import Request, World
from tracker.access.roles import SCOPES_OF, Role
from tracker.access.session_cookie import SAFE_METHODS
from tracker.accounts.api.second_factor import EXAMPLE_CODE
from tracker.clock import now
from tracker.ids import new_id
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.web.endpoint import Endpoint

WEAKEST_FIRST = (Role.VIEWER, Role.EDITOR, Role.OWNER)
CROSS_SITE: dict[str, str | bytes] = {"Sec_Fetch_Site": "cross-site"}
OTHER_HOST: dict[str, str | bytes] = {"Host": "go.example.com"}
A_FORM: dict[str, str | bytes] = {"Content_Type": "text/plain"}


async def send(
    person: PersonClient, request: Request, headers: dict[str, str | bytes] | None = None
) -> Response:
    return await person.send_raw(request.endpoint.method, request.path, request.body, headers)


def may(role: Role, scope: str) -> bool:
    scopes = SCOPES_OF[role]
    return scopes is None or scope in scopes or f"{scope.partition(':')[0]}:*" in scopes


@each(KEYED_ENDPOINTS)
async def test_a_session_has_the_access_of_its_role_in_its_account(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    people = {role: await world.person(role) for role in WEAKEST_FIRST}
    foreign = await signed_in(world.services, world.client, world.other_account.id)
    allowed = [role for role in WEAKEST_FIRST if may(role, request.scope)]
    before = await world.stored()
    for role in set(WEAKEST_FIRST) - set(allowed):
        refused = await send(people[role], request)
        assert (refused.status, refused.error) == (
            403,
            f"your role lacks the scope {request.scope}",
        )
    assert (await send(foreign, request)).status == 403
    assert (await send(people[allowed[0]], request, CROSS_SITE)).status == 403
    if endpoint.method not in SAFE_METHODS:
        assert (await send(people[allowed[0]], request, A_FORM)).status == 400
    assert await world.stored() == before
    answer = await send(people[allowed[0]], request)
    assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")


class Visit(NamedTuple):
    """A person's request for an endpoint that is for people only, and the person's member."""

    person: PersonClient
    endpoint: Endpoint
    path: str
    body: bytes

    async def send(self, headers: dict[str, str | bytes] | None = None) -> Response:
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


Case = Callable[[World, Visit], Awaitable[Response]]


async def no_session(_: World, visit: Visit) -> Response:
    return await visit.send({"Cookie": ""})


async def a_key(world: World, visit: Visit) -> Response:
    secret = await world.key(world.account)
    return await visit.send({"Authorization": f"Bearer {secret}"})


async def unknown_session(_: World, visit: Visit) -> Response:
    return await visit.send({"Cookie": "session=" + "A" * 43})


async def ended_session(world: World, visit: Visit) -> Response:
    return await without(world, visit, "sessions")


async def removed_member(world: World, visit: Visit) -> Response:
    return await without(world, visit, "members")


async def expired_session(world: World, visit: Visit) -> Response:
    stored = world.services.stores.mongodb["sessions"]
    before = await stored.find().to_list(None)
    await stored.update_many({}, {"$set": {"expires_at": now()}})
    answer = await visit.send()
    for one in before:
        await stored.replace_one({"_id": one["_id"]}, one, upsert=True)
    return answer


async def from_elsewhere(_: World, visit: Visit) -> Response:
    return await visit.send(CROSS_SITE)


async def at_another_host(_: World, visit: Visit) -> Response:
    return await visit.send(OTHER_HOST)


async def without(world: World, visit: Visit, collection: str) -> Response:
    """Send after a first request that was answered, and without the person's documents."""
    shown = await visit.person.send("GET", "/api/session")
    assert shown.status == 200
    stored = world.services.stores.mongodb[collection]
    owned = await stored.find({"person_id": visit.person.person.id}).to_list(None)
    await stored.delete_many({"person_id": visit.person.person.id})
    answer = await visit.send()
    await stored.insert_many(owned)
    return answer


CASES: dict[Case, int] = {
    no_session: 401,
    a_key: 403,
    unknown_session: 401,
    ended_session: 401,
    removed_member: 401,
    expired_session: 401,
    from_elsewhere: 403,
    at_another_host: 403,
}


@each(PEOPLES_ENDPOINTS)
async def test_only_the_person_has_access_to_what_is_theirs(
    world: World, endpoint: Endpoint
) -> None:
    own = await visit(world, endpoint)
    before = await world.stored()
    for case, status in CASES.items():
        response = await case(world, own)
        assert (case, response.status) == (case, status), response.body
        assert response.error
        assert await world.stored() == before
    if endpoint.method not in SAFE_METHODS:
        assert (await own.send(A_FORM)).status == 400
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


async def sign_out(world: World, visit: Visit) -> None:
    await world.services.access.sessions.end_all(visit.person.person.id)


async def remove(world: World, visit: Visit) -> None:
    owned = {"person_id": visit.person.person.id}
    await world.services.stores.mongodb["members"].delete_many(owned)


async def demote(world: World, visit: Visit) -> None:
    member = await world.services.accounts.members.find_person(
        world.account.id, visit.person.person.id
    )
    assert member is not None

    async def work(transaction: MongoSession) -> None:
        await world.services.accounts.members.change_role(member, Role.EDITOR, transaction)

    await run_in_transaction(world.services.stores.mongodb.database, work)


async def move(world: World, visit: Visit) -> None:
    person_id = visit.person.person.id
    await world.services.accounts.members.add(world.other_account.id, person_id, Role.OWNER)
    body = {"accountId": str(world.other_account.id)}
    assert (await visit.person.send("PATCH", "/api/session", body)).status == 200


@pytest.mark.parametrize("end", [sign_out, remove, demote, move])
@each(PEOPLES_ENDPOINTS)
async def test_a_session_that_ends_before_the_last_byte_changes_nothing(
    world: World, endpoint: Endpoint, end: Callable[[World, Visit], Awaitable[None]]
) -> None:
    own = await visit(world, endpoint)
    fields = {
        "Cookie": f"{own.person.cookie}={own.person.secret}",
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/json",
    }
    async with held(world.client, endpoint.method, own.path, fields, own.body) as finish:
        await end(world, own)
        before = await world.stored()
        assert (await finish()).status == 401
    assert await world.stored() == before
