"""An account whose members make invitations and password resets, and use them."""

from typing import Any, NamedTuple

import pytest
from tornado.platform.asyncio import AsyncIOLoop

from tests.factories import create_member
from tests.web.person import BROWSER, PASSWORD, create_person
from tracker.access.invitations import InvitationKind
from tracker.access.principal import Actor, ActorKind, Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.accounts.joining import JoinForm
from tracker.accounts.members import Member
from tracker.accounts.people import Person
from tracker.errors import ErrorCode, NotFound
from tracker.service.services import Services

GRACE = "grace@example.com"
NEW = "another password"


class Scene(NamedTuple):
    """An account with two owners, of whom one makes links, and a viewer whose password is reset."""

    services: Services
    account: Account
    maker: Member
    viewer: Member
    person: Person

    @property
    def author(self) -> Author:
        """The maker with the authority of an owner, as when the request was checked."""
        actor = Actor(kind=ActorKind.MEMBER, id=self.maker.person_id, name="Ada")
        return Author(self.account.id, actor)

    @property
    def operator(self) -> Author:
        return Author.operator(self.account.id)

    async def links(self, author: Author, email: str = GRACE) -> list[str]:
        """Return the tokens of an invitation and of a password reset that `author` makes."""
        membership = self.services.accounts.membership
        _, invitation = await membership.invite(author, email, Role.VIEWER)
        _, reset = await membership.reset_password(author, self.viewer.id)
        return [invitation, reset]

    async def use(self, token: str) -> None:
        await self.services.accounts.joining.join(token, JoinForm(NEW, name="Grace"), BROWSER)

    async def listed(self) -> int:
        """Return the number of open invitations and resets of the account."""
        invitations = self.services.access.invitations
        pages = [await invitations.page(self.account.id, 1, 10, kind) for kind in InvitationKind]
        return sum(total for _, total in pages)

    async def stored(self) -> list[Any]:
        database = self.services.stores.mongodb.database
        return [await database[name].find().to_list(None) for name in ("people", "members")]

    async def assert_ended(self, tokens: list[str]) -> None:
        before = await self.stored()
        for token in tokens:
            for refused in (self.services.accounts.joining.preview(token), self.use(token)):
                with pytest.raises(NotFound) as caught:
                    await refused
                assert caught.value.code == ErrorCode.LINK_EXPIRED
        assert await self.stored() == before


async def a_scene(services: Services, email: str = "ada@example.com") -> Scene:
    account = await services.accounts.accounts.create("Acme")
    await create_member(services, account.id)
    maker = await create_member(services, account.id)
    person = await create_person(services, email, PASSWORD)
    viewer = await create_member(services, account.id, Role.VIEWER, person)
    return Scene(services, account, maker, viewer, person)


@pytest.fixture
def scene(services: Services, io_loop: AsyncIOLoop) -> Scene:
    made: Scene = io_loop.run_sync(lambda: a_scene(services))
    return made
