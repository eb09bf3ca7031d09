"""Invitations and password resets end with the authority of those who made them."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from tornado.platform.asyncio import AsyncIOLoop

from tests.factories import create_member
from tests.web.person import BROWSER, PASSWORD
from tracker.access.invitations import VALID_FOR, InvitationKind
from tracker.access.principal import Actor, ActorKind, Author
from tracker.access.roles import SCOPES_OF, Role
from tracker.access.sessions import Session
from tracker.accounts.accounts import Account
from tracker.accounts.joining import JoinForm
from tracker.accounts.members import Member
from tracker.clock import now
from tracker.errors import ErrorCode, Forbidden, NotFound
from tracker.service.services import Services

pytestmark = pytest.mark.redis

EMAIL = "grace@example.com"


class Scene(NamedTuple):
    """An account with two owners, of whom one makes links, and a viewer whose password is reset."""

    services: Services
    account: Account
    maker: Member
    viewer: Member

    @property
    def author(self) -> Author:
        """The maker with the authority of an owner, as when the request was checked."""
        actor = Actor(kind=ActorKind.MEMBER, id=self.maker.person_id, name="Ada")
        return Author(self.account.id, actor)

    @property
    def operator(self) -> Author:
        return Author.operator(self.account.id)

    async def key(self, **fields: Any) -> Author:
        key, _ = await self.services.access.api_keys.create(self.account.id, "a key", **fields)
        return Author(key.account_id, key.principal.actor)

    async def links(self, author: Author, email: str = EMAIL) -> list[str]:
        """Return the tokens of an invitation and of a password reset that `author` makes."""
        membership = self.services.accounts.membership
        _, invitation = await membership.invite(author, email, Role.VIEWER)
        _, reset = await membership.reset_password(author, self.viewer.id)
        return [invitation, reset]

    async def join(self, token: str) -> Session:
        form = JoinForm(PASSWORD, name="Grace")
        return (await self.services.accounts.joining.join(token, form, BROWSER))[0]

    async def listed(self) -> int:
        """Return the number of open invitations and resets of the account."""
        invitations = self.services.access.invitations
        pages = [await invitations.page(self.account.id, 1, 10, kind) for kind in InvitationKind]
        return sum(total for _, total in pages)

    async def assert_ended(self, tokens: list[str]) -> None:
        before = await self.stored()
        for token in tokens:
            for refused in (self.services.accounts.joining.preview(token), self.join(token)):
                with pytest.raises(NotFound) as caught:
                    await refused
                assert caught.value.code == ErrorCode.LINK_EXPIRED
        assert await self.stored() == before

    async def stored(self) -> list[Any]:
        database = self.services.stores.mongodb.database
        return [await database[name].find().to_list(None) for name in ("people", "members")]


@pytest.fixture
def scene(services: Services, io_loop: AsyncIOLoop) -> Scene:
    made: Scene = io_loop.run_sync(lambda: a_scene(services))
    return made


async def a_scene(services: Services) -> Scene:
    account = await services.accounts.accounts.create("Acme")
    await create_member(services, account.id)
    maker = await create_member(services, account.id)
    viewer = await create_member(services, account.id, Role.VIEWER)
    return Scene(services, account, maker, viewer)


Change = Callable[[Scene], Awaitable[Any]]


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
    author = await scene.key()
    tokens = await scene.links(author)
    assert author.actor.id is not None
    await scene.services.access.api_keys.revoke(author.actor.id)
    assert await scene.listed() == 0
    await scene.assert_ended(tokens)


async def test_the_links_of_an_api_key_expire_with_it(scene: Scene) -> None:
    end = now() + timedelta(hours=1)
    author = await scene.key(expires_at=end)
    tokens = await scene.links(author)
    for token in tokens:
        assert (await scene.services.access.invitations.find_open(token)).expires_at == end
    await scene.services.stores.mongodb["api_keys"].update_one(
        {"_id": author.actor.id}, {"$set": {"expires_at": now()}}
    )
    await scene.assert_ended(tokens)


async def test_a_link_that_was_left_open_is_of_no_use_without_its_makers_authority(
    scene: Scene,
) -> None:
    """Releases before this one did not end the links of a member whom they removed."""
    tokens = await scene.links(scene.author)
    await scene.services.stores.mongodb["members"].update_one(
        {"_id": scene.maker.id}, {"$set": {"role": Role.EDITOR}}
    )
    await scene.assert_ended(tokens)


async def test_a_link_for_a_role_beyond_the_present_scopes_of_its_maker_is_of_no_use(
    scene: Scene,
) -> None:
    author = await scene.key()
    _, token = await scene.services.accounts.membership.invite(author, EMAIL, Role.OWNER)
    fewer = {"$set": {"scopes": [*(SCOPES_OF[Role.EDITOR] or ()), "members:write"]}}
    await scene.services.stores.mongodb["api_keys"].update_one({}, fewer)
    await scene.assert_ended([token])


async def test_links_of_others_and_of_other_accounts_stay(scene: Scene) -> None:
    services, other = scene.services, await a_scene(scene.services)
    maker = await services.accounts.members.add(other.account.id, scene.maker.person_id, Role.OWNER)
    tokens = await other.links(other._replace(maker=maker).author)
    await services.accounts.membership.invite(scene.author, EMAIL, Role.VIEWER)
    for author, email in (
        (scene.operator, "eve@example.com"),
        (await scene.key(), "mia@example.com"),
    ):
        tokens.append((await services.accounts.membership.invite(author, email, Role.OWNER))[1])
    await is_removed(scene)
    for token in tokens:
        await services.accounts.joining.preview(token)
    assert await scene.listed() == 2


async def test_a_link_ends_at_the_end_of_its_day_if_its_makers_key_lives_longer(
    scene: Scene,
) -> None:
    author = await scene.key(expires_at=now() + timedelta(days=2))
    for token in await scene.links(author):
        link = await scene.services.access.invitations.find_open(token)
        assert link.expires_at - link.created_at == VALID_FOR


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
        await scene.join(token)
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
            await membership.invite(scene.author, EMAIL, Role.VIEWER)
        else:
            await membership.reset_password(scene.author, scene.viewer.id)
    assert await scene.services.stores.mongodb["invitations"].count_documents({}) == 0
