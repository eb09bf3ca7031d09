"""Invitations, roles, removals and resets, with the author's rights and the audit log."""

from typing import Any
from uuid import UUID

import pytest

from tests.factories import create_member, create_person
from tracker.access.audit import AuditObject, FieldChange
from tracker.access.principal import OPERATOR, Actor, ActorKind, Author
from tracker.access.roles import Role
from tracker.errors import BadRequest, Forbidden, NotFound
from tracker.ids import new_id
from tracker.service.services import Services

EMAIL = "grace@example.com"


async def owner_of_account(services: Services) -> Author:
    account = await services.accounts.accounts.create("Acme")
    owner = await create_member(services, account.id)
    actor = Actor(kind=ActorKind.MEMBER, id=owner.person_id, name="Ada")
    return Author(account.id, actor, "8.8.8.0/24")


async def audited(services: Services, account_id: UUID) -> list[tuple[str, AuditObject, Any]]:
    """Return action, target and changes of the account's entries, oldest first."""
    entries, _ = await services.access.audit.page(account_id, 1, 100)
    return [(one.action, one.target, one.changes) for one in reversed(entries)]


async def test_an_invitation_and_its_withdrawal_are_audited(services: Services) -> None:
    author = await owner_of_account(services)
    account_id = author.account_id
    invitation, token = await services.accounts.membership.invite(author, EMAIL, Role.VIEWER)
    assert (invitation.email, invitation.role) == (EMAIL, Role.VIEWER)
    assert invitation.created_by == author.actor
    assert await services.access.invitations.find_open(token) == invitation
    await services.accounts.membership.withdraw(author, invitation)
    assert await services.access.invitations.find(invitation.id) is None
    target = AuditObject(kind="invitation", id=invitation.id, name=EMAIL)
    assert await audited(services, account_id) == [
        ("invitation.created", target, {"role": FieldChange(before=None, after="viewer")}),
        ("invitation.withdrawn", target, {}),
    ]
    [entry, _], _ = await services.access.audit.page(account_id, 1, 100)
    assert (entry.actor, entry.address) == (author.actor, "8.8.8.0/24")
    with pytest.raises(NotFound):
        await services.accounts.membership.withdraw(author, invitation)
    assert len(await audited(services, account_id)) == 2


async def test_a_new_invitation_withdraws_the_earlier_one_for_the_same_address(
    services: Services,
) -> None:
    author = await owner_of_account(services)
    account_id = author.account_id
    for email in (EMAIL, None):
        earlier, _ = await services.accounts.membership.invite(author, email, Role.VIEWER)
        later, _ = await services.accounts.membership.invite(author, email, Role.OWNER)
        assert await services.access.invitations.find(earlier.id) is None
        assert await services.access.invitations.find(later.id) == later
    assert [action for action, _, _ in await audited(services, account_id)] == [
        *("invitation.created", "invitation.withdrawn", "invitation.created"),
    ] * 2
    other = await owner_of_account(services)
    await services.accounts.membership.invite(other, EMAIL, Role.VIEWER)
    _, open_invitations = await services.access.invitations.page(account_id, 1, 10)
    assert open_invitations == 2


async def test_a_change_of_a_role_and_a_removal_are_audited(services: Services) -> None:
    author = await owner_of_account(services)
    account_id = author.account_id
    person = await create_person(services, EMAIL)
    member = await create_member(services, account_id, Role.VIEWER, person)
    changed = await services.accounts.membership.change_role(author, member.id, Role.EDITOR)
    assert await services.accounts.members.find(member.id) == changed
    assert changed.role == Role.EDITOR
    assert await services.accounts.membership.change_role(author, member.id, Role.EDITOR) == changed
    await services.accounts.membership.remove(author, member.id)
    assert member.id not in [one.id for one in await services.accounts.members.list(account_id)]
    target = AuditObject(kind="member", id=member.id, name=EMAIL)
    assert await audited(services, account_id) == [
        ("member.role_changed", target, {"role": FieldChange(before="viewer", after="editor")}),
        ("member.removed", target, {"role": FieldChange(before="editor", after=None)}),
    ]
    for again in (
        services.accounts.membership.change_role(author, member.id, Role.OWNER),
        services.accounts.membership.remove(author, member.id),
        services.accounts.membership.reset_password(author, member.id),
    ):
        with pytest.raises(NotFound, match="member: not found"):
            await again


async def test_a_refused_change_of_the_last_owner_is_not_audited(services: Services) -> None:
    author = await owner_of_account(services)
    [owner] = await services.accounts.members.list(author.account_id)
    for refused in (
        services.accounts.membership.remove(author, owner.id),
        services.accounts.membership.change_role(author, owner.id, Role.VIEWER),
    ):
        with pytest.raises(BadRequest, match="role: an account keeps its last owner"):
            await refused
    assert await audited(services, author.account_id) == []


async def test_an_account_resets_the_password_of_its_own_member_only(services: Services) -> None:
    author = await owner_of_account(services)
    account_id = author.account_id
    person = await create_person(services, EMAIL)
    member = await create_member(services, account_id, Role.VIEWER, person)
    earlier, _ = await services.accounts.membership.reset_password(author, member.id)
    reset, token = await services.accounts.membership.reset_password(author, member.id)
    assert (await services.access.invitations.find_open(token)).id == reset.id != earlier.id
    assert (reset.person_id, reset.email, reset.account_id) == (person.id, EMAIL, account_id)
    assert await services.stores.mongodb["invitations"].count_documents({}) == 1
    target = AuditObject(kind="member", id=member.id, name=EMAIL)
    assert await audited(services, account_id) == [("password_reset.created", target, {})] * 2
    await create_member(services, new_id(), Role.VIEWER, person)
    with pytest.raises(Forbidden, match="member: belongs to other accounts too"):
        await services.accounts.membership.reset_password(author, member.id)


async def test_the_operator_resets_any_password_and_every_account_of_the_person_logs_it(
    services: Services,
) -> None:
    person = await create_person(services, EMAIL)
    accounts = [new_id(), new_id()]
    for account_id in accounts:
        await create_member(services, account_id, Role.OWNER, person)
    reset, token = await services.accounts.membership.reset_password_as_operator(
        person, without_totp=True
    )
    assert (await services.access.invitations.find_open(token)) == reset
    assert (reset.account_id, reset.without_totp) == (None, True)
    for account_id in accounts:
        [entry], _ = await services.access.audit.page(account_id, 1, 10)
        assert (entry.action, entry.actor) == ("password_reset.created", OPERATOR)
