"""Password resets over HTTP: listed without their links, and withdrawn."""

from uuid import UUID

import pytest

from tests.factories import create_member, create_person
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.access.audit import AuditFilter
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clock import iso
from tracker.errors import NotFound
from tracker.service.services import Services

PATH = "/api/password-resets"
GRACE = "grace@example.com"


async def a_viewer(services: Services, account: Account, email: str = GRACE) -> UUID:
    person = await create_person(services, email)
    return (await create_member(services, account.id, Role.VIEWER, person)).id


async def test_a_reset_is_listed_and_withdrawn(world: World) -> None:
    member_id = await a_viewer(world.services, world.account)
    made = (await world.api.send("POST", f"/api/members/{member_id}/password-reset")).json()
    token = made["url"].partition("#")[2]
    reset = await world.services.access.invitations.find_open(token)
    listed = await world.api.get(f"{PATH}?accountId={world.account.id}")
    assert listed.json()["rows"] == [
        {
            "id": made["id"],
            "person_id": str(reset.person_id),
            "email": GRACE,
            "created_at": iso(reset.created_at),
            "expires_at": made["expires_at"],
            "created_by": {"kind": "api_key", "id": str(reset.created_by.id), "name": "a key"},
        }
    ]
    assert token.encode() not in listed.body
    assert (await world.api.delete(f"{PATH}/{made['id']}")).json() == {"success": True}
    assert (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()["rows"] == []
    with pytest.raises(NotFound):
        await world.services.access.invitations.find_open(token)
    again = await world.api.delete(f"{PATH}/{made['id']}")
    assert (again.status, again.error) == (404, "password reset: not found")
    entries, _ = await world.services.access.audit.page(
        world.account.id, AuditFilter(target_id=member_id), 1, 10
    )
    assert [(one.action, one.target.name) for one in entries] == [
        ("password_reset.withdrawn", GRACE),
        ("password_reset.created", GRACE),
    ]


async def test_resets_and_invitations_are_apart_and_those_of_the_operator_are_not_listed(
    world: World,
) -> None:
    author = Author.operator(world.account.id)
    invitation, _ = await world.services.accounts.membership.invite(
        author, "eve@example.com", Role.VIEWER
    )
    reset, _ = await world.services.accounts.membership.reset_password(
        author, await a_viewer(world.services, world.account)
    )
    person = await world.services.accounts.people.find_by_email(GRACE)
    assert person is not None
    await world.services.accounts.membership.reset_password_as_operator(person)
    for path, own, other in (
        (PATH, reset, invitation),
        ("/api/invitations", invitation, reset),
    ):
        rows = (await world.api.get(f"{path}?accountId={world.account.id}")).json()["rows"]
        assert [row["id"] for row in rows] == [str(own.id)]
        assert (await world.api.delete(f"{path}/{other.id}")).status == 404


async def test_the_links_of_a_removed_owner_and_a_revoked_key_do_nothing(world: World) -> None:
    owner = await world.person()
    member = await world.services.accounts.members.find_person(world.account.id, owner.person.id)
    assert member is not None
    await create_member(world.services, world.account.id)
    key, secret = await world.services.access.api_keys.create(world.account.id, "leaked")
    viewers = [await a_viewer(world.services, world.account, f"{n}@example.com") for n in range(2)]
    invitation = {"accountId": str(world.account.id), "role": "owner"}
    leaked = KeyedClient(world.client, secret)
    made = [
        await owner.send("POST", "/api/invitations", invitation | {"email": "eve@example.com"}),
        await owner.send("POST", f"/api/members/{viewers[0]}/password-reset"),
        await leaked.post("/api/invitations", **invitation, email="mia@example.com"),
        await leaked.send("POST", f"/api/members/{viewers[1]}/password-reset"),
    ]
    tokens = [one.json()["url"].partition("#")[2] for one in made]
    assert (await world.api.delete(f"/api/members/{member.id}")).status == 200
    assert (await world.api.delete(f"/api/keys/{key.id}")).status == 200
    for token in tokens:
        with pytest.raises(NotFound):
            await world.services.accounts.joining.preview(token)
    for path in (PATH, "/api/invitations"):
        assert (await world.api.get(f"{path}?accountId={world.account.id}")).json()["rows"] == []
