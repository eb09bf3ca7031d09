"""Who may use which endpoint: every row of the route table, with every kind of wrong key or id."""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

import msgspec
import orjson
import pytest

from tests.api.client import Client, Response
from tests.api.records import make_link
from tracker.access.accounts import Account
from tracker.access.api_keys import SCOPES
from tracker.api.endpoint import Endpoint, Nothing
from tracker.api.parameters import parse_body
from tracker.api.routes import ENDPOINTS
from tracker.clock import now
from tracker.conversions.event_config import PayoutType
from tracker.ids import new_id
from tracker.services import Services
from tracker.webhooks import template

SPELLINGS = ("accountId", "account_id")

Maker = Callable[[Services, UUID], Awaitable[UUID]]


async def a_short_link(services: Services, account_id: UUID) -> UUID:
    return (await make_link(services, account_id, f"s-{account_id}")).id


async def a_tag(services: Services, account_id: UUID) -> UUID:
    return (await services.tags.create(account_id, "A tag")).id


async def a_domain(services: Services, account_id: UUID) -> UUID:
    """Verified, so that DNS is not asked."""
    domain = await services.domains.create(account_id, f"a{account_id.hex[-8:]}.example")
    return (await services.domains.verify(domain.id)).id


async def an_event_config(services: Services, account_id: UUID) -> UUID:
    config = await services.event_configs.create(account_id, "A", PayoutType.CPA, Decimal(1))
    return config.id


async def a_webhook(services: Services, account_id: UUID) -> UUID:
    webhook = await services.webhooks.create(
        account_id, "A webhook", "https://example.com/", "POST", template.DEFAULT
    )
    return webhook.id


async def a_key(services: Services, account_id: UUID) -> UUID:
    return (await services.api_keys.create(account_id, "A key"))[0].id


MAKERS: dict[str, Maker] = {
    "/api/short-links/": a_short_link,
    "/api/tags/": a_tag,
    "/api/domains/": a_domain,
    "/api/event-configs/": an_event_config,
    "/api/webhooks/": a_webhook,
    "/api/keys/": a_key,
}
"""What makes an object, by the path before its id."""


def maker(prefix: str) -> Maker:
    assert prefix in MAKERS, f"add to MAKERS what makes an object that is found at {prefix}<id>"
    return MAKERS[prefix]


class Request(NamedTuple):
    """A request for an endpoint that the owner of everything in it may make."""

    endpoint: Endpoint
    ids: list[UUID]
    account_id: UUID

    @property
    def path(self) -> str:
        ids = iter(self.ids)
        path = re.sub(r"\{\w+\}", lambda _: str(next(ids)), self.endpoint.path)
        return f"{path}{self._query}"

    @property
    def body(self) -> bytes:
        if self.endpoint.body is Nothing:
            return b""
        assert self.endpoint.example is not None, "an endpoint with a body needs an example"
        return orjson.dumps(self.endpoint.example | self._account_in(self.endpoint.body))

    @property
    def scope(self) -> str:
        kind = self.endpoint.body
        body = None if kind is Nothing else parse_body(kind, self.body).value
        return self.endpoint.scope_of(body)

    @property
    def _query(self) -> str:
        named = self._account_in(self.endpoint.query)
        return "".join(f"?{name}={value}" for name, value in named.items())

    def _account_in(self, kind: type[msgspec.Struct]) -> dict[str, str]:
        """The account by the name that `kind` has for it; empty if it has none."""
        fields = msgspec.structs.fields(kind)
        names = [field.encode_name for field in fields if field.name == "account_id"]
        return {name: str(self.account_id) for name in names}


class World(NamedTuple):
    """Two accounts with everything."""

    services: Services
    client: Client
    account: Account
    other_account: Account

    async def request(self, endpoint: Endpoint, account: Account) -> Request:
        """For objects of `account`, which are made."""
        prefixes = [endpoint.path[: one.start()] for one in re.finditer(r"\{", endpoint.path)]
        ids = [await maker(prefix)(self.services, account.id) for prefix in prefixes]
        return Request(endpoint, ids, account.id)

    async def key(self, account: Account, **fields: Any) -> str:
        return (await self.services.api_keys.create(account.id, "a key", **fields))[1]

    async def send(self, request: Request, key: str | None) -> Response:
        sent: dict[str, str | bytes] = {} if key is None else {"Authorization": f"Bearer {key}"}
        return await self.client.request(request.endpoint.method, request.path, sent, request.body)

    async def send_named(self, request: Request, key: str, named: Mapping[str, object]) -> Response:
        """With `named` for the account: in the body if there is one, else in the query."""
        names = {name: str(value) for name, value in named.items()}
        path, body = request.path.partition("?")[0], request.body
        if body:
            fields = {k: v for k, v in orjson.loads(body).items() if k not in SPELLINGS}
            body = orjson.dumps(fields | names)
        else:
            path += f"?{urlencode(names)}"
        sent: dict[str, str | bytes] = {"Authorization": f"Bearer {key}"}
        return await self.client.request(request.endpoint.method, path, sent, body)

    async def stored(self) -> dict[str, list[Any]]:
        """Everything in MongoDB but the keys, of which the last use is noted."""
        names = await self.services.database.list_collection_names()
        return {
            name: await self.services.database[name].find().sort("_id", 1).to_list(None)
            for name in sorted(names)
            if name != "api_keys" and not name.startswith("system.")
        }


@pytest.fixture
def world(
    services: Services,
    client: Client,
    account: Account,
    other_account: Account,
) -> World:
    return World(services, client, account, other_account)


Case = Callable[[World, Request], Awaitable[Response]]


async def no_key(world: World, request: Request) -> Response:
    return await world.send(request, None)


async def bad_key(world: World, request: Request) -> Response:
    return await world.send(request, "trk_unknown")


async def revoked_key(world: World, request: Request) -> Response:
    key, secret = await world.services.api_keys.create(world.account.id, "revoked")
    await world.services.api_keys.revoke(key.id)
    return await world.send(request, secret)


async def expired_key(world: World, request: Request) -> Response:
    expired = await world.key(world.account, expires_at=now() - timedelta(milliseconds=1))
    return await world.send(request, expired)


async def other_accounts_key(world: World, request: Request) -> Response:
    return await world.send(request, await world.key(world.other_account))


async def missing_scope(world: World, request: Request) -> Response:
    every = [f"{resource}:{verb}" for resource in SCOPES for verb in ("read", "write")]
    others = [scope for scope in every if scope != request.scope]
    return await world.send(request, await world.key(world.account, scopes=others))


async def no_scope(world: World, request: Request) -> Response:
    return await world.send(request, await world.key(world.account, scopes=[]))


CASES: dict[Case, int] = {
    no_key: 401,
    bad_key: 401,
    revoked_key: 401,
    expired_key: 401,
    other_accounts_key: 403,
    missing_scope: 403,
    no_scope: 403,
}
ALL = [pytest.param(one, id=f"{one.method} {one.path}") for one in ENDPOINTS]
WITH_ID = [param for param, one in zip(ALL, ENDPOINTS, strict=True) if one.id_names]


@pytest.mark.parametrize("endpoint", ALL)
async def test_the_owner_with_every_scope_or_just_the_one_may(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    key = await world.key(world.account, scopes=[request.scope])
    response = await world.send(request, key)
    assert response.status == 200, response.body


@pytest.mark.parametrize("endpoint", ALL)
async def test_anybody_else_may_not_and_changes_nothing(world: World, endpoint: Endpoint) -> None:
    request = await world.request(endpoint, world.account)
    before = await world.stored()
    for case, status in CASES.items():
        response = await case(world, request)
        assert (case, response.status) == (case, status), response.body
        assert response.error
        assert ("WWW-Authenticate" in response.headers) == (status == 401)
        assert await world.stored() == before


@pytest.mark.parametrize("endpoint", WITH_ID)
async def test_an_object_of_another_account_is_forbidden_and_left_alone(
    world: World, endpoint: Endpoint
) -> None:
    foreign = await world.request(endpoint, world.other_account)
    request = foreign._replace(account_id=world.account.id)
    before = await world.stored()
    response = await world.send(request, await world.key(world.account))
    assert (response.status, response.error.endswith("belongs to another account")) == (403, True)
    assert await world.stored() == before


@pytest.mark.parametrize("endpoint", WITH_ID)
async def test_an_id_that_does_not_exist_is_not_found(world: World, endpoint: Endpoint) -> None:
    request = await world.request(endpoint, world.account)
    before, key = await world.stored(), await world.key(world.account)
    for place in range(len(request.ids)):
        ids = [*request.ids[:place], new_id(), *request.ids[place + 1 :]]
        response = await world.send(request._replace(ids=ids), key)
        assert (response.status, response.error.endswith(": not found")) == (404, True)
    assert await world.stored() == before


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("endpoint", ALL)
async def test_the_own_account_may_be_named_in_either_spelling_wherever_it_is_expected_or_not(
    world: World, endpoint: Endpoint, spelling: str
) -> None:
    request = await world.request(endpoint, world.account)
    key = await world.key(world.account)
    assert (await world.send_named(request, key, {spelling: world.account.id})).status == 200


@pytest.mark.parametrize("endpoint", ALL)
async def test_another_account_may_not_be_named_in_either_spelling(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    before, key = await world.stored(), await world.key(world.account)
    for account_id in (world.other_account.id, new_id()):
        for spelling in SPELLINGS:
            response = await world.send_named(request, key, {spelling: account_id})
            assert response.status == 403
            assert response.error == "accountId: this API key has no access to the account"
    both = dict(zip(SPELLINGS, (world.account.id, world.other_account.id), strict=True))
    response = await world.send_named(request, key, both)
    assert response.status == 400
    assert response.error == "account_id: differs from accountId, which is another name for it"
    assert await world.stored() == before


@pytest.mark.parametrize("endpoint", ALL)
async def test_a_key_comes_before_a_bad_request_and_that_before_access(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    foreign = await world.key(world.other_account)
    for key, status in (("trk_unknown", 401), (foreign, 400)):
        response = await world.send_named(request, key, {"accountId": "x"})
        assert response.status == status
