"""Members over HTTP: an account's people, their roles, removals and password resets."""

from typing import Any

import pytest

from tests.factories import create_member, create_person
from tests.web.each import each_case
from tests.web.world import World
from tracker.access.audit import AuditFilter
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
        "totp": False,
        "created_at": iso(first.created_at),
        "last_seen_at": None,
    }


async def test_a_role_is_changed_and_a_member_removed(world: World) -> None:
    await create_member(world.services, world.account.id)
    member = await create_member(world.services, world.account.id, Role.VIEWER)
    changed = await world.api.patch(f"{PATH}/{member.id}", role="editor")
    assert (changed.status, changed.json()["role"]) == (200, "editor")
    removed = await world.api.delete(f"{PATH}/{member.id}")
    assert (removed.status, removed.json()) == (200, {"success": True})
    entries, _ = await world.services.access.audit.page(world.account.id, AuditFilter(), 1, 10)
    assert [one.action for one in entries] == ["member.removed", "member.role_changed"]
    assert {(one.actor.name, one.address) for one in entries} == {("a key", "127.0.0.0/24")}
    again = await world.api.delete(f"{PATH}/{member.id}")
    assert (again.status, again.error) == (404, "member: not found")


async def test_the_last_owner_is_neither_demoted_nor_removed(world: World) -> None:
    owner = await create_member(world.services, world.account.id)
    await create_member(world.services, world.account.id, Role.EDITOR)
    for refused in (
        await world.api.patch(f"{PATH}/{owner.id}", role="viewer"),
        await world.api.delete(f"{PATH}/{owner.id}"),
    ):
        assert refused.status == 400
        assert refused.error == "role: an account keeps its last owner; make another owner first"
    assert await world.services.accounts.members.find(owner.id) == owner


@each_case("role", ["admin", "", "Owner", None, 1])
async def test_an_unknown_role_is_refused(world: World, role: Any) -> None:
    member = await create_member(world.services, world.account.id, Role.VIEWER)
    response = await world.api.patch(f"{PATH}/{member.id}", role=role)
    assert response.status == 400
    assert response.error.startswith("role: must be ")


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


async def test_a_password_reset_is_a_link_for_a_member_of_this_account_alone(world: World) -> None:
    member = await create_member(world.services, world.account.id, Role.VIEWER)
    made = await world.api.send("POST", f"{PATH}/{member.id}/password-reset")
    assert made.status == 200
    url, _, token = made.json()["url"].partition("#")
    assert url == "http://tracker.test/console/join"
    reset = await world.services.access.invitations.find_open(token)
    assert made.json()["expires_at"] == iso(reset.expires_at)
    assert reset.person_id == member.person_id
    person = await world.services.accounts.people.find(member.person_id)
    await create_member(world.services, world.other_account.id, Role.VIEWER, person)
    refused = await world.api.send("POST", f"{PATH}/{member.id}/password-reset")
    assert (refused.status, refused.headers["X-Error-Code"]) == (403, "forbidden")
    assert "only the operator may reset the password" in refused.error
