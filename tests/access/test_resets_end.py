"""A password reset is for the password and the second factor that it was made for."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from pymongo.errors import OperationFailure
from tornado.platform.asyncio import AsyncIOLoop

from tests.factories import create_member
from tests.web.person import BROWSER, PASSWORD, begin_totp, create_person, have_totp, totp_code
from tracker.access.invitations import Invitation
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.joining import JoinForm
from tracker.accounts.members import Member
from tracker.accounts.people import Person
from tracker.accounts.self_service import Requester
from tracker.errors import ErrorCode, NotFound
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import MongoSession

pytestmark = pytest.mark.redis

NEW = "another password"


class Scene(NamedTuple):
    """A viewer of one account, which has an owner besides."""

    services: Services
    person: Person
    member: Member

    async def resets(self, without_totp: bool = False) -> list[str]:
        """Return the tokens of a reset by the operator, and of one by the account."""
        membership = self.services.accounts.membership
        _, by_operator = await membership.reset_password_as_operator(self.person, without_totp)
        author = Author.operator(self.member.account_id)
        _, by_account = await membership.reset_password(author, self.member.id)
        return [by_operator, by_account]

    async def current(self) -> Person:
        found = await self.services.accounts.people.find(self.person.id)
        assert found is not None
        return found

    async def requester(self) -> Requester:
        """Return the person with a new session."""
        account_id, person_id = self.member.account_id, self.person.id
        session, _ = await self.services.access.sessions.start(person_id, account_id, BROWSER)
        return Requester(session, Author(account_id, self.person.actor, BROWSER.address), BROWSER)

    async def use(self, token: str) -> None:
        await self.services.accounts.joining.join(token, JoinForm(NEW), BROWSER)

    async def assert_ended(self, tokens: list[str]) -> None:
        before = await self.current()
        for token in tokens:
            for refused in (self.services.accounts.joining.preview(token), self.use(token)):
                with pytest.raises(NotFound) as caught:
                    await refused
                assert caught.value.code == ErrorCode.LINK_EXPIRED
        assert await self.current() == before


@pytest.fixture
def scene(services: Services, io_loop: AsyncIOLoop) -> Scene:
    made: Scene = io_loop.run_sync(lambda: a_scene(services))
    return made


async def a_scene(services: Services) -> Scene:
    account_id = (await services.accounts.accounts.create("Acme")).id
    await create_member(services, account_id)
    person = await create_person(services, password=PASSWORD)
    return Scene(services, person, await create_member(services, account_id, Role.VIEWER, person))


Change = Callable[[Scene], Awaitable[Any]]


async def changes_the_password(scene: Scene) -> None:
    await scene.services.accounts.self_service.change_password(
        await scene.requester(), PASSWORD, NEW
    )


async def switches_the_second_factor_on(scene: Scene) -> None:
    requester = await scene.requester()
    await begin_totp(scene.services, scene.person.id, requester.session.id)
    await scene.services.accounts.second_factor_setup.switch_on(requester, totp_code())


async def switches_the_second_factor_off(scene: Scene) -> None:
    await have_totp(scene.services, scene.person.id)
    await scene.services.accounts.second_factor_setup.switch_off(
        await scene.requester(), PASSWORD, totp_code()
    )


@pytest.mark.parametrize("without_totp", [False, True])
@pytest.mark.parametrize(
    "change",
    [changes_the_password, switches_the_second_factor_on, switches_the_second_factor_off],
)
async def test_every_open_reset_of_a_person_ends_when_the_person(
    scene: Scene, change: Change, without_totp: bool
) -> None:
    tokens = await scene.resets(without_totp)
    await change(scene)
    await scene.assert_ended(tokens)


@pytest.mark.parametrize("used", [0, 1], ids=["operator", "account"])
async def test_the_use_of_one_reset_ends_the_other(scene: Scene, used: int) -> None:
    tokens = await scene.resets()
    await scene.use(tokens[used])
    await scene.assert_ended(tokens)


async def test_the_resets_of_others_and_of_the_password_as_it_is_stay(scene: Scene) -> None:
    services, other = scene.services, await a_scene_of(scene.services, "eve@example.com")
    tokens = [*await other.resets(), *await scene.resets()]
    # A hash of other parameters is one of the same password.
    await services.accounts.people.rehash(
        scene.person, await services.accounts.passwords.hash(PASSWORD)
    )
    for token in tokens:
        await services.accounts.joining.preview(token)
    await changes_the_password(scene)
    for token in tokens[:2]:
        await services.accounts.joining.preview(token)


async def a_scene_of(services: Services, email: str) -> Scene:
    account_id = (await services.accounts.accounts.create("Another")).id
    person = await create_person(services, email)
    return Scene(services, person, await create_member(services, account_id, Role.VIEWER, person))


async def test_a_reset_of_an_account_does_not_revive_with_the_membership(scene: Scene) -> None:
    services, member = scene.services, scene.member
    _, token = await scene.resets()
    await services.accounts.membership.remove(Author.operator(member.account_id), member.id)
    await services.accounts.members.add(member.account_id, member.person_id, member.role)
    await scene.assert_ended([token])


async def test_a_reset_is_not_used_in_the_moment_in_which_the_password_changes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    [token, _] = await scene.resets()
    use, calls = scene.services.access.invitations.use, []

    async def after_a_change(one: str, transaction: MongoSession) -> Any:
        calls.append(one)
        if len(calls) == 1:
            # The snapshot of the transaction has the reset and the old password.
            await scene.services.accounts.people.find(scene.person.id, transaction)
            await changes_the_password(scene)
        return await use(one, transaction)

    monkeypatch.setattr(scene.services.access.invitations, "use", after_a_change)
    with pytest.raises(NotFound):
        await scene.services.accounts.joining.join(
            token, JoinForm("a password of a thief"), BROWSER
        )
    assert await scene.services.accounts.passwords.verify((await scene.current()).password, NEW)


async def test_the_making_of_a_reset_conflicts_with_a_change_of_the_password(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, conflicts = scene.services, []
    create = services.access.invitations.create

    async def beside_a_change(new: Invitation, transaction: MongoSession, *others: Any) -> Any:
        async with await services.stores.mongodb.client.start_session() as session:
            session.start_transaction()
            try:
                await services.accounts.people.change_password(scene.person, "a hash", session)
            except OperationFailure as error:
                conflicts.append(error.has_error_label("TransientTransactionError"))
        return await create(new, transaction, *others)

    monkeypatch.setattr(services.access.invitations, "create", beside_a_change)
    await scene.resets()
    assert conflicts == [True, True]
