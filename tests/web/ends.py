"""The ways in which the access of a key or of a person ends while it is in use."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from uuid import UUID

import orjson

from tests.factories import create_member
from tests.web.person import signed_in
from tests.web.world import World
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.clock import now


class Holder(NamedTuple):
    """A key or person of `world.account`, by id, and the header fields of its requests."""

    world: World
    id: UUID
    fields: Mapping[str, str]

    async def member_id(self) -> UUID:
        members = self.world.services.accounts.members
        member = await members.find_person(self.world.account.id, self.id)
        assert member is not None
        return member.id


async def a_key(world: World) -> Holder:
    key, secret = await world.services.access.api_keys.create(world.account.id, "a key")
    return Holder(world, key.id, {"Authorization": f"Bearer {secret}"})


async def a_person(world: World) -> Holder:
    """Return an owner who is signed in, beside another owner."""
    await create_member(world.services, world.account.id)
    person = await signed_in(world.services, world.client, world.account.id)
    return Holder(world, person.person.id, person.fields)


async def revoke(holder: Holder) -> None:
    await holder.world.services.access.api_keys.revoke(holder.id)


async def expire(holder: Holder) -> None:
    await _change_key(holder, expires_at=now())


async def narrow(holder: Holder) -> None:
    await _change_key(holder, scopes=[])


async def _change_key(holder: Holder, **fields: object) -> None:
    keys = holder.world.services.stores.mongodb["api_keys"]
    await keys.update_one({"_id": holder.id}, {"$set": fields})


async def sign_out(holder: Holder) -> None:
    await holder.world.services.access.sessions.end_all(holder.id)


async def remove(holder: Holder) -> None:
    membership = holder.world.services.accounts.membership
    operator = Author.operator(holder.world.account.id)
    await membership.remove(operator, await holder.member_id())


async def demote(holder: Holder) -> None:
    membership = holder.world.services.accounts.membership
    operator = Author.operator(holder.world.account.id)
    await membership.change_role(operator, await holder.member_id(), Role.EDITOR)


async def switch(holder: Holder) -> None:
    """Let the person's session continue in another account."""
    world, other_id = holder.world, holder.world.other_account.id
    await world.services.accounts.members.add(other_id, holder.id, Role.OWNER)
    body = orjson.dumps({"accountId": str(other_id)})
    answer = await world.client.request("PATCH", "/api/session", holder.fields, body)
    assert answer.status == 200, answer.body


End = Callable[[Holder], Awaitable[None]]

OF_KEYS: tuple[End, ...] = (revoke, expire, narrow)
OF_PEOPLE: tuple[End, ...] = (sign_out, remove, demote, switch)
ENDS: Mapping[End, Callable[[World], Awaitable[Holder]]] = {
    **dict.fromkeys(OF_KEYS, a_key),
    **dict.fromkeys(OF_PEOPLE, a_person),
}
