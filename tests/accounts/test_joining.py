"""Joining by an invitation, and password resets: what they store, and what they refuse."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from tests.factories import create_member
from tests.web.person import have_totp, stored_again, totp_code
from tracker.access.audit import AuditFilter
from tracker.access.invitations import InvitationKind
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.access.sessions import Session, SessionClient
from tracker.accounts.joining import JoinForm
from tracker.accounts.people import Person
from tracker.accounts.sign_in_limit import PER_MINUTE
from tracker.errors import BadRequest, ErrorCode, NotFound, RateLimited, TrackerError, Unauthorized
from tracker.service.services import Services

pytestmark = pytest.mark.redis

ADA, GRACE = "ada@example.com", "grace@example.com"
OLD, NEW = "the password so far", "another password"
BROWSER = SessionClient(address="203.0.113.0/24", user_agent="a browser", counted_as="203.0.113.7")
FORM = JoinForm(password=NEW, name="Ada")


async def an_account(services: Services, name: str = "Acme") -> UUID:
    return (await services.accounts.accounts.create(name)).id


async def invited(
    services: Services, account_id: UUID, email: str | None = ADA, role: Role = Role.EDITOR
) -> str:
    """Return the token of a new invitation."""
    return (await services.accounts.membership.invite(Author.operator(account_id), email, role))[1]


async def join(services: Services, token: str, form: JoinForm = FORM) -> Session:
    session, _ = await services.accounts.joining.join(token, form, BROWSER)
    return session


async def ada(services: Services, *accounts: UUID) -> Person:
    """Store Ada, with the password OLD, as a viewer of accounts that have an owner."""
    person = await services.accounts.people.create(
        ADA, "Ada", await services.accounts.passwords.hash(OLD)
    )
    for account_id in accounts:
        await create_member(services, account_id)
        await create_member(services, account_id, Role.VIEWER, person)
    return person


async def member_id(services: Services, account_id: UUID, person: Person) -> UUID:
    member = await services.accounts.members.find_person(account_id, person.id)
    assert member is not None
    return member.id


async def reset_by_account(services: Services, account_id: UUID, person: Person) -> str:
    """Return the token of a reset that an owner of the account has made."""
    member, author = await member_id(services, account_id, person), Author.operator(account_id)
    return (await services.accounts.membership.reset_password(author, member))[1]


async def signs_in_with(services: Services, password: str) -> bool:
    try:
        await services.accounts.sign_in.identify(ADA, password, BROWSER)
    except Unauthorized:
        return False
    return True


async def assert_refused(
    services: Services, token: str, form: JoinForm, kind: type[TrackerError], error: str
) -> None:
    """Check that joining is refused, stores nothing, and leaves the token open."""
    before = await stored(services)
    with pytest.raises(kind, match=error):
        await join(services, token, form)
    assert await stored(services) == before
    await services.access.invitations.find_open(token)


async def assert_expired(services: Services, token: str) -> None:
    for refused in (services.accounts.joining.preview(token), join(services, token)):
        with pytest.raises(NotFound) as caught:
            await refused
        assert caught.value.code == ErrorCode.LINK_EXPIRED


async def stored(services: Services) -> list[Any]:
    """Return what joining changes, without the entries of refused codes."""
    names = ("people", "members", "sessions", "audit")
    changed = {"action": {"$ne": "totp.refused"}}
    return [
        await services.stores.mongodb[name].find(changed).sort("_id", 1).to_list(None)
        for name in names
    ]


async def actions(services: Services, account_id: UUID) -> list[str]:
    entries, _ = await services.access.audit.page(account_id, 1, 100)
    return [one.action for one in reversed(entries)]


async def test_a_new_person_joins_with_a_name_and_a_password(services: Services) -> None:
    account_id = await an_account(services)
    token = await invited(services, account_id)
    session = await join(services, token)
    person = await services.accounts.people.find_by_email(ADA)
    assert person is not None
    assert (person.name, session.person_id, session.account_id) == ("Ada", person.id, account_id)
    assert NEW not in str(await stored(services))
    assert await signs_in_with(services, NEW)
    [member] = await services.accounts.members.list(account_id)
    assert (member.person_id, member.role) == (person.id, Role.EDITOR)
    assert await actions(services, account_id) == [
        *("invitation.created", "member.joined", "session.signed_in"),
    ]
    joined = AuditFilter(action="member.joined")
    entries, _ = await services.access.audit.page(account_id, 1, 10, joined)
    assert (entries[0].actor.id, entries[0].address) == (person.id, BROWSER.address)
    await assert_expired(services, token)


async def test_a_person_joins_a_second_account_with_the_password_they_have(
    services: Services,
) -> None:
    first, second = await an_account(services), await an_account(services)
    person = await ada(services, first)
    token = await invited(services, second)
    assert (await services.accounts.joining.preview(token)).has_password
    for wrong in (NEW, "", "x" * 1000):
        await assert_refused(services, token, FORM._replace(password=wrong), Unauthorized, "wrong")
    session = await join(services, token, JoinForm(password=OLD, name="Another name"))
    assert (session.person_id, session.account_id) == (person.id, second)
    assert {one.account_id for one in await services.accounts.members.of_person(person.id)} == {
        *(first, second),
    }
    known = await stored_again(services, person)
    assert (known.name, known.password) == ("Ada", person.password)


async def test_a_token_used_twice_at_one_moment_lets_one_person_in(services: Services) -> None:
    account_id = await an_account(services)
    token = await invited(services, account_id, None)
    done = await asyncio.gather(
        *(
            join(services, token, FORM._replace(email=f"{number}@example.com"))
            for number in range(4)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(one, Session) for one in done) == 1
    assert sum(isinstance(one, NotFound) for one in done) == 3
    assert await services.stores.mongodb["people"].count_documents({}) == 1
    assert len(await services.accounts.members.list(account_id)) == 1


async def test_an_open_invitation_lets_the_person_choose_the_address(services: Services) -> None:
    account_id = await an_account(services)
    token = await invited(services, account_id, None, Role.OWNER)
    preview = await services.accounts.joining.preview(token)
    assert (preview.email, preview.has_password) == (None, False)
    await assert_refused(services, token, FORM, BadRequest, "email: required")
    await assert_refused(
        services, token, FORM._replace(email="ada"), BadRequest, "email: must be an e-mail"
    )
    await join(services, token, FORM._replace(email=" ADA@example.com"))
    assert await services.accounts.people.find_by_email(ADA)
    assert await services.accounts.members.has_owner(account_id)


async def test_an_open_invitation_does_not_take_over_a_person(services: Services) -> None:
    person = await ada(services, await an_account(services))
    token = await invited(services, await an_account(services), None, Role.OWNER)
    await assert_refused(services, token, FORM._replace(email=ADA), Unauthorized, "wrong")
    session = await join(services, token, JoinForm(password=OLD, email=ADA))
    assert session.person_id == person.id


async def test_a_member_does_not_join_again(services: Services) -> None:
    account_id = await an_account(services)
    token = await invited(services, account_id, None)
    await ada(services, account_id)
    again = JoinForm(password=OLD, email=ADA)
    await assert_refused(services, token, again, BadRequest, "email: is a member")


async def test_a_reset_sets_the_password_and_ends_every_session_of_the_person(
    services: Services,
) -> None:
    accounts = [await an_account(services), await an_account(services)]
    person = await ada(services, *accounts)
    for account_id in accounts:
        await services.access.sessions.start(person.id, account_id, BROWSER)
    _, token = await services.accounts.membership.reset_password_as_operator(person)
    preview = await services.accounts.joining.preview(token)
    assert (preview.kind, preview.email) == (InvitationKind.PASSWORD_RESET, ADA)
    assert (preview.account, preview.role, preview.has_password) == (None, None, True)
    session = await join(services, token)
    assert await services.access.sessions.of_person(person.id) == [session]
    assert await signs_in_with(services, NEW)
    assert not await signs_in_with(services, OLD)
    for account_id in accounts:
        used = ["password_reset.created", "password_reset.used"]
        assert (await actions(services, account_id))[:2] == used
    await assert_expired(services, token)


async def test_a_link_does_not_take_the_place_of_a_second_factor_but_the_operators_may(
    services: Services,
) -> None:
    person = await ada(services, await an_account(services))
    await have_totp(services, person.id, "abcd-efgh-ijkl-mnop")
    invitation = await invited(services, await an_account(services))
    _, reset = await services.accounts.membership.reset_password_as_operator(person)
    assert not (await services.accounts.joining.preview(invitation)).needs_code
    assert (await services.accounts.joining.preview(reset)).needs_code
    for token, password in ((invitation, OLD), (reset, NEW)):
        for code in (None, "000000x"):
            await assert_refused(
                services, token, JoinForm(password, code=code), Unauthorized, "code"
            )
    weak = JoinForm("short", code="abcd-efgh-ijkl-mnop")  # the code stays unused
    await assert_refused(services, reset, weak, BadRequest, "password: 12 to 256")
    assert (
        await join(services, invitation, JoinForm(OLD, code=totp_code()))
    ).person_id == person.id
    await join(services, reset, JoinForm(NEW, code="abcd-efgh-ijkl-mnop"))
    _, token = await services.accounts.membership.reset_password_as_operator(
        person, without_totp=True
    )
    assert not (await services.accounts.joining.preview(token)).needs_code
    await join(services, token)
    changed = await stored_again(services, person)
    assert (changed.has_totp, changed.recovery_codes) == (False, [])
    [account_id, *_] = [
        one.account_id for one in await services.accounts.members.of_person(person.id)
    ]
    [last, first], _ = await services.access.audit.page(
        account_id, 1, 10, AuditFilter(action="password_reset.used")
    )
    assert (first.changes, last.changes["totp"].after) == ({}, False)
    assert await signs_in_with(services, NEW)


Meanwhile = Callable[[Services, UUID, Person], Awaitable[Any]]


async def joins_another(services: Services, account_id: UUID, person: Person) -> None:
    await join(services, await invited(services, await an_account(services)), JoinForm(OLD))


async def is_promoted(services: Services, account_id: UUID, person: Person) -> None:
    member, author = await member_id(services, account_id, person), Author.operator(account_id)
    await services.accounts.membership.change_role(author, member, Role.OWNER)


async def is_removed(services: Services, account_id: UUID, person: Person) -> None:
    member, author = await member_id(services, account_id, person), Author.operator(account_id)
    await services.accounts.membership.remove(author, member)


@pytest.mark.parametrize("meanwhile", [joins_another, is_promoted, is_removed])
async def test_a_reset_of_an_account_expires_with_a_change_of_the_persons_memberships(
    services: Services, meanwhile: Meanwhile
) -> None:
    account_id = await an_account(services)
    person = await ada(services, account_id)
    token = await reset_by_account(services, account_id, person)
    await meanwhile(services, account_id, person)
    await assert_expired(services, token)
    assert await signs_in_with(services, OLD)


async def test_a_reset_of_an_account_never_opens_an_account_that_the_person_joins_meanwhile(
    services: Services,
) -> None:
    for number in range(4):
        account_id = await an_account(services)
        email = f"{number}@example.com"
        person = await services.accounts.people.create(
            email, "", await services.accounts.passwords.hash(OLD)
        )
        await create_member(services, account_id, Role.OWNER, person)
        reset = await reset_by_account(services, account_id, person)
        invitation = await invited(services, await an_account(services), email)
        await asyncio.gather(
            join(services, reset), join(services, invitation, JoinForm(OLD)), return_exceptions=True
        )
        is_reset = (await stored_again(services, person)).password != person.password
        joined = len(await services.accounts.members.of_person(person.id)) == 2
        assert is_reset != joined


async def test_a_link_has_attempts_of_its_own_that_no_neighbour_uses_up(services: Services) -> None:
    account_id = await an_account(services)
    for number in range(PER_MINUTE + 1):
        await services.accounts.sign_in_limit.count(f"{number}@example.com", BROWSER)
    reset = await reset_by_account(services, account_id, await ada(services, account_id))
    await join(services, reset)
    await join(services, await invited(services, account_id, "eve@example.com"))


async def test_whoever_has_a_link_may_not_hash_passwords_without_end(services: Services) -> None:
    token = await invited(services, await an_account(services))
    invitation = await services.access.invitations.find_open(token)
    for _ in range(PER_MINUTE):
        await services.accounts.sign_in_limit.count_token(invitation.id)
    await assert_refused(services, token, FORM, RateLimited, "too many attempts")
