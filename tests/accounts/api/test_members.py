"""Members over HTTP: an account's people, their roles, removals and password resets."""

import pytest

from tests.factories import create_member, create_person
from tests.web.world import World
from tracker.access.roles import SCOPES_OF, Role
from tracker.clock import iso

PATH = "/api/members"


async def test_members_are_listed_with_their_person_newest_first(world: World) -> None:
    person = await create_person(world.services, "ada@example.com", name="Ada")
    first = await create_member(world.services, world.account.id, Role.OWNER, person)
    second = await create_member(world.services, world.account.id, Role.VIEWER)
    await create_member(world.services, world.other_account.id, Role.OWNER, person)
    rows = (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()["rows"]
    assert [row["id"] for row in rows] == [str(second.id), str(first.id)]
    assert rows[1] == {
        "id": str(first.id),
        "person_id": str(person.id),
        "email": "ada@example.com",
        "name": "Ada",
        "role": "owner",
        "tags": [],
        "totp": False,
        "created_at": iso(first.created_at),
        "last_seen_at": None,
    }


@pytest.mark.parametrize(
    "scopes",
    [["members:*"], ["members:write", *(SCOPES_OF[Role.EDITOR] or [])]],
    ids=["members only", "editor"],
)
async def test_a_key_changes_no_member_with_more_rights_than_its_own(
    world: World, scopes: list[str] | None
) -> None:
    api = await world.api_with(scopes)
    await create_member(world.services, world.account.id)
    owner = await create_member(world.services, world.account.id)
    viewer = await create_member(world.services, world.account.id, Role.VIEWER)
    for refused in (
        await api.patch(f"{PATH}/{owner.id}", role="viewer"),
        await api.patch(f"{PATH}/{viewer.id}", role="owner"),
        await api.delete(f"{PATH}/{owner.id}"),
        await api.send("POST", f"{PATH}/{owner.id}/password-reset"),
    ):
        assert (refused.status, refused.headers["X-Error-Code"]) == (403, "missing_scope")
        assert "has scopes that you lack" in refused.error
    assert await world.services.accounts.members.find(owner.id) == owner
    assert await world.services.stores.mongodb["invitations"].count_documents({}) == 0
