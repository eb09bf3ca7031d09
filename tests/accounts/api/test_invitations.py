"""Invitations and password resets over HTTP: listed without their links, and withdrawn."""

from typing import Any
from uuid import UUID

import pytest

from tests.factories import create_member, create_person
from tests.web.each import each_case
from tests.web.world import World
from tracker.access.audit import AuditFilter
from tracker.access.principal import Author
from tracker.access.roles import SCOPES_OF, Role
from tracker.accounts.accounts import Account
from tracker.clock import iso
from tracker.errors import NotFound
from tracker.service.services import Services

PATH = "/api/invitations"
RESETS = "/api/password-resets"
GRACE = "grace@example.com"


async def test_an_invitation_shows_its_link_once(world: World) -> None:
    response = await world.api.post(
        PATH, accountId=str(world.account.id), email=" Grace@Example.com", role="editor"
    )
    assert response.status == 200
    made = response.json()
    url, _, token = made.pop("url").partition("#")
    assert url == "http://tracker.test/console/join"
    invitation = await world.services.access.invitations.find_open(token)
    actor = invitation.created_by
    assert made == {
        "id": str(invitation.id),
        "email": GRACE,
        "role": "editor",
        "tags": [],
        "created_at": iso(invitation.created_at),
        "expires_at": iso(invitation.expires_at),
        "created_by": {"kind": "api_key", "id": str(actor.id), "name": "a key"},
    }
    listed = await world.api.get(f"{PATH}?accountId={world.account.id}")
    assert listed.json()["rows"] == [made]
    assert token.encode() not in listed.body


async def test_an_invitation_of_the_operator_may_be_for_anyone(world: World) -> None:
    await world.services.accounts.membership.invite(
        Author.operator(world.account.id), None, Role.OWNER
    )
    [row] = (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()["rows"]
    assert (row["email"], row["created_by"]["kind"]) == (None, "operator")
    sent = await world.api.post(PATH, accountId=str(world.account.id), email=None, role="viewer")
    assert (sent.status, sent.error) == (400, "email: must be text, got null")


async def test_a_member_is_not_invited_again(world: World) -> None:
    person = await create_person(world.services, GRACE)
    await create_member(world.services, world.account.id, Role.VIEWER, person)
    response = await world.api.post(
        PATH, accountId=str(world.account.id), email=GRACE.upper(), role="owner"
    )
    assert (response.status, response.headers["X-Error-Code"]) == (400, "already_taken")
    assert response.error == "email: is a member of the account already"


@each_case(
    "fields, error",
    [
        ({"email": "grace"}, "email: must be an e-mail address"),
        ({"email": "grace@example.com\u200b"}, "email: no white space"),
    ],
)
async def test_a_wrong_field_is_named(world: World, fields: dict[str, Any], error: str) -> None:
    valid = {"accountId": str(world.account.id), "email": GRACE, "role": "viewer"}
    response = await world.api.post(PATH, **valid | fields)
    assert response.status == 400
    assert response.error.startswith(error)


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        (["members:*"], []),
        (["members:write", *(SCOPES_OF[Role.VIEWER] or [])], ["viewer"]),
        (["members:write", *(SCOPES_OF[Role.EDITOR] or [])], ["viewer", "editor"]),
        (None, ["viewer", "editor", "owner"]),
    ],
    ids=["members only", "viewer", "editor", "all"],
)
async def test_a_key_invites_nobody_with_more_rights_than_its_own(
    world: World, scopes: list[str] | None, allowed: list[str]
) -> None:
    api = await world.api_with(scopes)
    for role in Role:
        fields = {"accountId": str(world.account.id), "email": f"{role}@example.com", "role": role}
        response = await api.post(PATH, **fields)
        if role in allowed:
            assert response.status == 200, response.body
        else:
            assert response.status == 403
            assert response.error == f"role: {role} has scopes that you lack"
    assert await world.services.stores.mongodb["invitations"].count_documents({}) == len(allowed)


async def a_viewer(services: Services, account: Account, email: str = GRACE) -> UUID:
    person = await create_person(services, email)
    return (await create_member(services, account.id, Role.VIEWER, person)).id


async def test_a_reset_is_listed_and_withdrawn(world: World) -> None:
    member_id = await a_viewer(world.services, world.account)
    made = (await world.api.send("POST", f"/api/members/{member_id}/password-reset")).json()
    url, _, token = made["url"].partition("#")
    assert url == "http://tracker.test/console/join"
    reset = await world.services.access.invitations.find_open(token)
    listed = await world.api.get(f"{RESETS}?accountId={world.account.id}")
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
    assert (await world.api.delete(f"{RESETS}/{made['id']}")).json() == {"success": True}
    assert (await world.api.get(f"{RESETS}?accountId={world.account.id}")).json()["rows"] == []
    with pytest.raises(NotFound):
        await world.services.access.invitations.find_open(token)
    again = await world.api.delete(f"{RESETS}/{made['id']}")
    assert (again.status, again.error) == (404, "password reset: not found")
    entries, _ = await world.services.access.audit.page(
        world.account.id, 1, 10, AuditFilter(target_id=member_id)
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
        (RESETS, reset, invitation),
        (PATH, invitation, reset),
    ):
        rows = (await world.api.get(f"{path}?accountId={world.account.id}")).json()["rows"]
        assert [row["id"] for row in rows] == [str(own.id)]
        assert (await world.api.delete(f"{path}/{other.id}")).status == 404
