"""Password resets over HTTP: listed without their links, and withdrawn."""

from uuid import UUID

import pytest

from tests.factories import create_member, create_person
from tests.web.world import World
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
    url, _, token = made["url"].partition("#")
    assert url == "http://tracker.test/console/join"
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
        world.account.id, 1, 10, target_id=member_id
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
