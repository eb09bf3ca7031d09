"""A request that waits before its work makes and changes nothing once its access has ended."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import pytest

from tests.factories import create_member
from tests.waiting import eventually
from tests.web.client import Client, Response
from tests.web.keyed_client import KeyedClient
from tests.web.person import signed_in
from tests.web.world import World
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.accounts.people import Person
from tracker.service.services import Services

TARGET = "https://8.8.8.8/"


class Scene(NamedTuple):
    """An account with a second owner, a key and a webhook, which somebody may attack."""

    services: Services
    client: Client
    account: Account
    member_id: Any
    key_id: Any
    webhook_id: Any


class Attack(NamedTuple):
    """A request, the function for which it waits, and the collection that must stay."""

    waits_for: str
    collection: str
    method: str
    path: str
    body: dict[str, Any] | None = None


ATTACKS = {
    "a key": Attack(
        "tracker.accounts.api.keys.run_in_turn", "api_keys", "POST", "keys", {"name": "mine"}
    ),
    "a share": Attack(
        *("tracker.sharing.api.shares.run_in_turn", "shares", "POST", "shares"),
        {"name": "mine", "report": {"lastDays": 7}},
    ),
    "a webhook": Attack(
        *("tracker.webhooks.target.check_addresses", "webhooks", "POST", "webhooks"),
        {"target_url": TARGET},
    ),
    "another receiver": Attack(
        *("tracker.webhooks.target.check_addresses", "webhooks", "PATCH", "webhooks/{webhook_id}"),
        {"target_url": "https://9.9.9.9/"},
    ),
    "an invitation": Attack(
        *("tracker.accounts.membership.run_in_turn", "invitations", "POST", "invitations"),
        {"email": "eve@example.com", "role": "owner"},
    ),
    "another role": Attack(
        *("tracker.accounts.membership.run_in_turn", "members", "PATCH"),
        *("members/{member_id}", {"role": "viewer"}),
    ),
    "a removal": Attack(
        *("tracker.accounts.membership.run_in_transaction", "members", "DELETE"),
        "members/{member_id}",
    ),
    "a revocation": Attack(
        *("tracker.access.api_keys.run_in_transaction", "api_keys", "DELETE", "keys/{key_id}")
    ),
}

Send = Callable[[Attack], Awaitable[Response]]
End = Callable[[], Awaitable[Any]]


async def a_scene(services: Services, client: Client, account: Account) -> Scene:
    member = await create_member(services, account.id)
    key, _ = await services.access.api_keys.create(account.id, "theirs")
    webhook = await services.webhooks.webhooks.create(account.id, "theirs", TARGET, "POST", {})
    return Scene(services, client, account, member.id, key.id, webhook.id)


def address(scene: Scene, attack: Attack) -> str:
    return f"/api/{attack.path.format(**scene._asdict())}"


def fields(scene: Scene, attack: Attack) -> dict[str, Any] | None:
    if attack.method != "POST":
        return attack.body
    name = "account_id" if attack.collection == "webhooks" else "accountId"
    return {name: str(scene.account.id), **(attack.body or {})}


async def of_an_owner(scene: Scene) -> tuple[Send, UUID, Person]:
    """Return the requests of a new owner, with its ids as a member and as a person."""
    signed = await signed_in(scene.services, scene.client, scene.account.id)
    member = await scene.services.accounts.members.find_person(scene.account.id, signed.person.id)
    assert member is not None

    async def send(attack: Attack) -> Response:
        return await signed.send(attack.method, address(scene, attack), fields(scene, attack))

    return send, member.id, signed.person


async def of_a_member(scene: Scene, role: Role | None) -> tuple[Send, End]:
    """Return the requests of an owner, and what gives the owner `role`, or removes them."""
    services, operator = scene.services, Author.operator(scene.account.id)
    send, member_id, _ = await of_an_owner(scene)

    async def end() -> None:
        if role is None:
            await services.accounts.membership.remove(operator, member_id)
        else:
            await services.accounts.membership.change_role(operator, member_id, role)

    return send, end


async def of_a_key(scene: Scene) -> tuple[Send, End]:
    """Return the requests of a key with every scope, and what revokes it."""
    key, secret = await scene.services.access.api_keys.create(scene.account.id, "leaked")
    api = KeyedClient(scene.client, secret)

    async def send(attack: Attack) -> Response:
        body = fields(scene, attack)
        sent = b"" if body is None else orjson.dumps(body)
        return await api.send(attack.method, address(scene, attack), sent)

    return send, lambda: scene.services.access.api_keys.revoke(key.id)


async def of_a_stolen_session(scene: Scene) -> tuple[Send, End]:
    """Return the requests of a session, and what its person ends it with."""
    send, _, person = await of_an_owner(scene)
    return send, lambda: scene.services.access.sessions.end_all(person.id)


WHO: dict[str, Callable[[Scene], Awaitable[tuple[Send, End]]]] = {
    "a removed owner": lambda scene: of_a_member(scene, None),
    "a demoted owner": lambda scene: of_a_member(scene, Role.VIEWER),
    "a stolen session": of_a_stolen_session,
    "a revoked key": of_a_key,
}


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("what", ATTACKS)
async def test_nothing_comes_of_what_waits_while_access_ends(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str, who: str
) -> None:
    scene, attack = await a_scene(world.services, world.client, world.account), ATTACKS[what]
    stored = world.services.stores.mongodb[attack.collection]
    send, end = await WHO[who](scene)
    module, _, name = attack.waits_for.rpartition(".")
    awaited = getattr(__import__(module, fromlist=[name]), name)
    left: list[Any] = []

    async def after_the_end(*arguments: Any) -> Any:
        monkeypatch.undo()
        await end()
        left.extend(await stored.find().sort("_id", 1).to_list(None))
        return await awaited(*arguments)

    monkeypatch.setattr(attack.waits_for, after_the_end)
    refused = await send(attack)
    assert (refused.status, refused.headers["X-Error-Code"]) == (403, "missing_scope")
    assert refused.error == "account: your access has changed in the meantime"
    assert await stored.find().sort("_id", 1).to_list(None) == left


@pytest.mark.parametrize("what", ["another role", "another receiver", "a key"])
async def test_a_crowd_of_requests_does_not_delay_the_removal_of_who_sends_them(
    world: World, what: str
) -> None:
    scene = await a_scene(world.services, world.client, world.account)
    await create_member(world.services, world.account.id)
    send, remove = await of_a_member(scene, None)
    crowd = [asyncio.ensure_future(send(ATTACKS[what])) for _ in range(100)]
    await eventually(lambda: any(one.done() for one in crowd))
    await remove()
    assert await world.services.stores.mongodb["members"].count_documents({}) == 2
    assert {one.status for one in await asyncio.gather(*crowd)} <= {200, 401, 403}
