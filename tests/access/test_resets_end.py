"""A password reset is for the password and the second factor that it was made for."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from tests.access.conftest import NEW, Scene, a_scene
from tests.web.person import BROWSER, PASSWORD, begin_totp, have_totp, stored_again, totp_code
from tracker.access.invitations import Invitation
from tracker.access.principal import Author
from tracker.accounts.joining import JoinForm
from tracker.accounts.self_service import Requester
from tracker.errors import NotFound
from tracker.stores.mongodb.transaction import MongoSession

pytestmark = pytest.mark.redis


Change = Callable[[Scene], Awaitable[Any]]


async def resets(scene: Scene, without_totp: bool = False) -> list[str]:
    """Return the tokens of a reset by the operator, and of one by the account."""
    membership = scene.services.accounts.membership
    _, by_operator = await membership.reset_password_as_operator(scene.person, without_totp)
    _, by_account = await membership.reset_password(scene.operator, scene.viewer.id)
    return [by_operator, by_account]


async def requester_of(scene: Scene) -> Requester:
    """Return the viewer with a new session."""
    session, _ = await scene.services.access.sessions.start(
        scene.person.id, scene.account.id, BROWSER
    )
    author = Author(scene.account.id, scene.person.actor, BROWSER.address)
    return Requester(session, author, BROWSER)


async def changes_the_password(scene: Scene) -> None:
    await scene.services.accounts.self_service.change_password(
        await requester_of(scene), PASSWORD, NEW
    )


async def switches_the_second_factor_on(scene: Scene) -> None:
    requester = await requester_of(scene)
    await begin_totp(scene.services, scene.person.id, requester.session.id)
    await scene.services.accounts.second_factor_setup.switch_on(requester, totp_code())


async def switches_the_second_factor_off(scene: Scene) -> None:
    await have_totp(scene.services, scene.person.id)
    await scene.services.accounts.second_factor_setup.switch_off(
        await requester_of(scene), PASSWORD, totp_code()
    )


@pytest.mark.parametrize("without_totp", [False, True])
@pytest.mark.parametrize(
    "change",
    [changes_the_password, switches_the_second_factor_on, switches_the_second_factor_off],
)
async def test_every_open_reset_of_a_person_ends_when_the_person(
    scene: Scene, change: Change, without_totp: bool
) -> None:
    tokens = await resets(scene, without_totp)
    await change(scene)
    await scene.assert_ended(tokens)


@pytest.mark.parametrize("used", [0, 1], ids=["operator", "account"])
async def test_the_use_of_one_reset_ends_the_other(scene: Scene, used: int) -> None:
    tokens = await resets(scene)
    await scene.use(tokens[used])
    await scene.assert_ended(tokens)


async def test_the_resets_of_others_and_of_the_password_as_it_is_stay(scene: Scene) -> None:
    services, other = scene.services, await a_scene(scene.services, "eve@example.com")
    tokens = [*await resets(other), *await resets(scene)]
    # A hash of other parameters is one of the same password.
    await services.accounts.people.rehash(
        scene.person, await services.accounts.passwords.hash(PASSWORD)
    )
    for token in tokens:
        await services.accounts.joining.preview(token)
    await changes_the_password(scene)
    for token in tokens[:2]:
        await services.accounts.joining.preview(token)


async def test_a_reset_of_an_account_does_not_revive_with_the_membership(scene: Scene) -> None:
    services, member = scene.services, scene.viewer
    _, token = await resets(scene)
    await services.accounts.membership.remove(Author.operator(member.account_id), member.id)
    await services.accounts.members.add(member.account_id, member.person_id, member.role)
    await scene.assert_ended([token])


async def test_a_reset_is_not_used_in_the_moment_in_which_the_password_changes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    [token, _] = await resets(scene)
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
    person = await stored_again(scene.services, scene.person)
    assert await scene.services.accounts.passwords.verify(person.password, NEW)


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
    await resets(scene)
    assert conflicts == [True, True]
