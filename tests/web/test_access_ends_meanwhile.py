"""A request that waits before its work makes and changes nothing once its access has ended."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import pytest

from tests.factories import create_member
from tests.waiting import eventually
from tests.web.client import Response
from tests.web.ends import End, Holder, a_key, a_person, remove, revoke, sign_out
from tests.web.world import World
from tracker.access.principal import Author
from tracker.access.roles import Role

TARGET = "https://8.8.8.8/"


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


async def victims(world: World) -> dict[str, UUID]:
    """Store a second owner, a key and a webhook; return their ids by their names in paths."""
    services, account_id = world.services, world.account.id
    member = await create_member(services, account_id)
    key, _ = await services.access.api_keys.create(account_id, "theirs")
    webhook = await services.webhooks.webhooks.create(account_id, "theirs", TARGET, "POST", {})
    return {"member_id": member.id, "key_id": key.id, "webhook_id": webhook.id}


async def send(holder: Holder, attack: Attack, ids: Mapping[str, UUID]) -> Response:
    body = attack.body
    if attack.method == "POST":
        body = {"accountId": str(holder.world.account.id), **(body or {})}
    path = f"/api/{attack.path.format(**ids)}"
    sent = b"" if body is None else orjson.dumps(body)
    return await holder.world.client.request(attack.method, path, holder.fields, sent)


async def demote(holder: Holder) -> None:
    """Leave an owner nothing that the attacks need."""
    membership = holder.world.services.accounts.membership
    operator = Author.operator(holder.world.account.id)
    await membership.change_role(operator, await holder.member_id(), Role.VIEWER)


@pytest.mark.parametrize("end", [remove, demote, sign_out, revoke])
@pytest.mark.parametrize("what", ATTACKS)
async def test_nothing_comes_of_what_waits_while_access_ends(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str, end: End
) -> None:
    ids, attack = await victims(world), ATTACKS[what]
    holder = await (a_key if end is revoke else a_person)(world)
    stored = world.services.stores.mongodb[attack.collection]
    module, _, name = attack.waits_for.rpartition(".")
    awaited = getattr(__import__(module, fromlist=[name]), name)
    left: list[Any] = []

    async def after_the_end(*arguments: Any) -> Any:
        monkeypatch.undo()
        await end(holder)
        left.extend(await stored.find().sort("_id", 1).to_list(None))
        return await awaited(*arguments)

    monkeypatch.setattr(attack.waits_for, after_the_end)
    refused = await send(holder, attack, ids)
    assert (refused.status, refused.headers["X-Error-Code"]) == (403, "missing_scope")
    assert refused.error == "account: your access has changed in the meantime"
    assert await stored.find().sort("_id", 1).to_list(None) == left


@pytest.mark.parametrize("what", ["another role", "another receiver", "a key"])
async def test_a_crowd_of_requests_does_not_delay_the_removal_of_who_sends_them(
    world: World, what: str
) -> None:
    ids, holder = await victims(world), await a_person(world)
    crowd = [asyncio.ensure_future(send(holder, ATTACKS[what], ids)) for _ in range(100)]
    await eventually(lambda: any(one.done() for one in crowd))
    await remove(holder)
    assert await world.services.stores.mongodb["members"].count_documents({}) == 2
    assert {one.status for one in await asyncio.gather(*crowd)} <= {200, 401, 403}
