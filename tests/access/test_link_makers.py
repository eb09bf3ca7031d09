"""Invitations and password resets end with the authority of those who made them."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.access.conftest import GRACE, Scene, a_scene
from tracker.access.invitations import VALID_FOR, InvitationKind
from tracker.access.principal import Author
from tracker.access.roles import SCOPES_OF, Role
from tracker.clock import now
from tracker.errors import ErrorCode, Forbidden, NotFound

pytestmark = pytest.mark.redis


Change = Callable[[Scene], Awaitable[Any]]


async def key(scene: Scene, **fields: Any) -> Author:
    made, _ = await scene.services.access.api_keys.create(scene.account.id, "a key", **fields)
    return Author(made.account_id, made.principal.actor)


async def is_removed(scene: Scene) -> None:
    await scene.services.accounts.membership.remove(scene.operator, scene.maker.id)


async def leaves(scene: Scene) -> None:
    await scene.services.accounts.membership.remove(scene.author, scene.maker.id)


async def is_demoted(scene: Scene) -> None:
    await scene.services.accounts.membership.change_role(
        scene.operator, scene.maker.id, Role.EDITOR
    )


async def is_removed_and_added_again(scene: Scene) -> None:
    await is_removed(scene)
    await scene.services.accounts.members.add(scene.account.id, scene.maker.person_id, Role.OWNER)


async def is_demoted_and_promoted_again(scene: Scene) -> None:
    await is_demoted(scene)
    await scene.services.accounts.membership.change_role(scene.operator, scene.maker.id, Role.OWNER)


@pytest.mark.parametrize(
    "change",
    [is_removed, leaves, is_demoted, is_removed_and_added_again, is_demoted_and_promoted_again],
)
async def test_the_links_of_an_owner_end_when_the_owner(scene: Scene, change: Change) -> None:
    tokens = await scene.links(scene.author)
    assert await scene.listed() == 2
    await change(scene)
    assert await scene.listed() == 0
    await scene.assert_ended(tokens)


async def test_the_links_of_an_api_key_end_when_it_is_revoked(scene: Scene) -> None:
    author = await key(scene)
    tokens = await scene.links(author)
    assert author.actor.id is not None
    await scene.services.access.api_keys.revoke(author.actor.id)
    assert await scene.listed() == 0
    await scene.assert_ended(tokens)


async def test_the_links_of_an_api_key_expire_with_it_or_after_a_day(scene: Scene) -> None:
    for hours in (48, 1):
        end = now() + timedelta(hours=hours)
        author = await key(scene, expires_at=end)
        tokens = await scene.links(author)
        for token in tokens:
            link = await scene.services.access.invitations.find_open(token)
            expected = min(end, link.created_at + VALID_FOR)
            assert abs(link.expires_at - expected) < timedelta(minutes=1)
    await scene.services.stores.mongodb["api_keys"].update_one(
        {"_id": author.actor.id}, {"$set": {"expires_at": now()}}
    )
    await scene.assert_ended(tokens)


async def test_a_link_for_a_role_beyond_the_present_scopes_of_its_maker_is_of_no_use(
    scene: Scene,
) -> None:
    author = await key(scene)
    _, token = await scene.services.accounts.membership.invite(author, GRACE, Role.OWNER)
    fewer = {"$set": {"scopes": [*(SCOPES_OF[Role.EDITOR] or ()), "members:write"]}}
    await scene.services.stores.mongodb["api_keys"].update_one({}, fewer)
    await scene.assert_ended([token])


async def test_links_of_others_and_of_other_accounts_stay(scene: Scene) -> None:
    services, other = scene.services, await a_scene(scene.services, "marie@example.com")
    maker = await services.accounts.members.add(other.account.id, scene.maker.person_id, Role.OWNER)
    tokens = await other.links(other._replace(maker=maker).author)
    await services.accounts.membership.invite(scene.author, GRACE, Role.VIEWER)
    for author, email in (
        (scene.operator, "eve@example.com"),
        (await key(scene), "mia@example.com"),
    ):
        tokens.append((await services.accounts.membership.invite(author, email, Role.OWNER))[1])
    await is_removed(scene)
    for token in tokens:
        await services.accounts.joining.preview(token)
    assert await scene.listed() == 2


def at_first_call(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, owner: object, name: str, change: Change
) -> None:
    """Change before the first call of a method, whose transaction has its snapshot by then.

    The method's last argument is that transaction.
    """
    method, calls = getattr(owner, name), []

    async def after(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            await scene.services.stores.mongodb["members"].find_one({}, session=arguments[-1])
            await change(scene)
        return await method(*arguments)

    monkeypatch.setattr(owner, name, after)


@pytest.mark.parametrize("change", [is_removed, is_demoted])
@pytest.mark.parametrize("which", [0, 1], ids=["invitation", "reset"])
async def test_a_link_is_not_used_in_the_moment_in_which_its_maker(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, change: Change, which: int
) -> None:
    token = (await scene.links(scene.author))[which]
    people = scene.services.stores.mongodb["people"]
    before = await people.find({}, ["email", "password"]).to_list(None)
    at_first_call(monkeypatch, scene, scene.services.access.invitations, "use", change)
    with pytest.raises(NotFound) as caught:
        await scene.use(token)
    assert caught.value.code == ErrorCode.LINK_EXPIRED
    assert await people.find({}, ["email", "password"]).to_list(None) == before


@pytest.mark.parametrize("change", [is_removed, is_demoted])
@pytest.mark.parametrize("kind", list(InvitationKind))
async def test_no_link_is_made_in_the_moment_in_which_its_maker(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, change: Change, kind: InvitationKind
) -> None:
    at_first_call(monkeypatch, scene, scene.services.access.authority, "lock", change)
    membership = scene.services.accounts.membership
    with pytest.raises(Forbidden, match="account: your access has changed"):
        if kind == InvitationKind.INVITATION:
            await membership.invite(scene.author, GRACE, Role.VIEWER)
        else:
            await membership.reset_password(scene.author, scene.viewer.id)
    assert await scene.services.stores.mongodb["invitations"].count_documents({}) == 0
