"""Second factors at sign-in: each code once, no more guesses than of passwords, and lost keys."""

import asyncio
import os

import pytest

from tests.factories import create_member
from tests.web.person import (
    BROWSER,
    PASSWORD,
    TOTP_SECRET,
    begin_totp,
    create_person,
    have_totp,
    stored_again,
    totp_code,
)
from tracker.access.audit import AuditFilter
from tracker.access.principal import Author
from tracker.accounts.people import Person
from tracker.accounts.second_factor import SecondFactor
from tracker.accounts.self_service import Requester
from tracker.accounts.sign_in_limit import FOR_EMAIL
from tracker.errors import (
    BadRequest,
    ErrorCode,
    RateLimited,
    TrackerError,
    Unauthorized,
    Unavailable,
)
from tracker.ids import new_id
from tracker.metrics import SIGN_INS_REFUSED
from tracker.service.services import Services
from tracker.stores.secret_box import PREFIX, Purpose, SecretBox

pytestmark = pytest.mark.redis

CODE, OTHER_CODE = "abcd-efgh-ijkl-mnop", "bcde-fghi-jklm-nopq"


async def person_with_totp(services: Services, *recovery_codes: str) -> Person:
    person = await create_person(services)
    await have_totp(services, person.id, *recovery_codes)
    return await stored_again(services, person)


async def refused(services: Services, person: Person, code: str | None) -> TrackerError:
    with pytest.raises(TrackerError) as caught:
        await services.accounts.second_factor.check(person, code, BROWSER.address)
    return caught.value


async def test_a_code_is_used_once_and_so_are_those_before_it(services: Services) -> None:
    person = await person_with_totp(services)
    first, second = totp_code(), totp_code(1)
    await services.accounts.second_factor.check(person, f" {second[:3]} {second[3:]} ", "")
    for code in (second, first):
        error = await refused(services, person, code)
        assert (error.message, error.code) == (
            "code: wrong, or used already",
            ErrorCode.CODE_REQUIRED,
        )


async def test_a_code_that_is_used_twice_at_one_moment_counts_once(services: Services) -> None:
    person, code = await person_with_totp(services), totp_code()
    done = await asyncio.gather(
        *(services.accounts.second_factor.check(person, code, "") for _ in range(4)),
        return_exceptions=True,
    )
    assert [one for one in done if one is None] == [None]


async def test_a_recovery_code_is_used_once_also_at_one_moment(services: Services) -> None:
    person = await person_with_totp(services, CODE, OTHER_CODE)
    member = await create_member(services, new_id(), person=person)
    done = await asyncio.gather(
        *(services.accounts.second_factor.check(person, CODE, "203.0.113.0/24") for _ in range(4)),
        return_exceptions=True,
    )
    assert [one for one in done if one is None] == [None]
    now = await stored_again(services, person)
    assert isinstance(await refused(services, now, CODE), Unauthorized)
    await services.accounts.second_factor.check(person, OTHER_CODE, "")
    entries, _ = await services.access.audit.page(
        member.account_id, 1, 10, AuditFilter(action="recovery_code.used")
    )
    assert [(one.action, one.actor.id) for one in entries] == [
        ("recovery_code.used", person.id)
    ] * 2
    left = entries[1].changes["recovery_codes"]
    assert (left.before, left.after, entries[1].address) == (2, 1, "203.0.113.0/24")


@pytest.mark.parametrize("code", ["", "000000x", "x" * 64, "\ud800", CODE])
async def test_a_wrong_code_is_refused_and_counted(services: Services, code: str) -> None:
    person = await person_with_totp(services)
    before = SIGN_INS_REFUSED._value.get()
    error = await refused(services, person, code)
    assert isinstance(error, Unauthorized)
    assert error.code == ErrorCode.CODE_REQUIRED
    assert SIGN_INS_REFUSED._value.get() == before + bool(code)


async def test_whoever_has_the_password_may_not_guess_codes(services: Services) -> None:
    person = await create_person(services, "ada@example.com", PASSWORD)
    await have_totp(services, person.id)
    for code in (None, *(f"guess {number}" for number in range(FOR_EMAIL - 1))):
        with pytest.raises(Unauthorized):
            await services.accounts.sign_in.identify(person.email, PASSWORD, BROWSER, code)
    with pytest.raises(RateLimited):
        await services.accounts.sign_in.identify(person.email, PASSWORD, BROWSER, totp_code())


async def test_whoever_has_a_link_may_not_guess_codes(services: Services) -> None:
    person = await person_with_totp(services)
    for number in range(FOR_EMAIL):
        with pytest.raises(Unauthorized):
            await services.accounts.sign_in.check_code(person, f"guess {number}", BROWSER)
    with pytest.raises(RateLimited):
        await services.accounts.sign_in.check_code(person, totp_code(), BROWSER)


async def test_a_sign_in_without_a_code_ends_if_the_second_factor_is_switched_on_meanwhile(
    services: Services,
) -> None:
    person = await create_person(services)
    await create_member(services, new_id(), person=person)
    await have_totp(services, person.id)
    with pytest.raises(Unauthorized):
        await services.accounts.sign_in.start_session(person, BROWSER)
    assert await services.access.sessions.of_person(person.id) == []


async def test_the_secret_is_encrypted_and_recovery_codes_work_without_the_key(
    services: Services,
) -> None:
    person = await create_person(services)
    box = SecretBox([os.urandom(32)], Purpose.TOTP)
    await have_totp(services, person.id, CODE)
    await services.accounts.people.change(person.id, {"totp": box.seal(person.id, TOTP_SECRET)})
    person = await stored_again(services, person)
    assert (person.totp or "").startswith(PREFIX)
    with_key = SecondFactor(services.accounts.second_factor._identity, box)
    await with_key.check(person, totp_code(), "")
    error = await refused(services, person, totp_code(1))
    assert isinstance(error, Unavailable)
    assert error.message == (
        "code: cannot be checked until the operator sets SECRET_KEY; a recovery code works"
    )
    await services.accounts.second_factor.check(person, CODE, "")


async def requester_of(services: Services, person: Person) -> Requester:
    session, _ = await services.access.sessions.start(person.id, new_id(), BROWSER)
    return Requester(session, Author(session.account_id, person.actor, BROWSER.address), BROWSER)


async def test_only_the_session_that_began_the_setup_ends_it(services: Services) -> None:
    person = await create_person(services)
    own, stolen = [await requester_of(services, person) for _ in range(2)]
    await begin_totp(services, person.id, own.session.id)
    with pytest.raises(BadRequest, match="totp: begin with the password"):
        await services.accounts.second_factor_setup.switch_on(stolen, totp_code())
    codes, _ = await services.accounts.second_factor_setup.switch_on(own, totp_code())
    assert len(codes) == 10


async def test_a_session_that_has_ended_meanwhile_changes_nothing(services: Services) -> None:
    person = await create_person(services)
    requester = await requester_of(services, person)
    await begin_totp(services, person.id, requester.session.id)
    await services.access.sessions.end_all(person.id)
    with pytest.raises(Unauthorized):
        await services.accounts.second_factor_setup.switch_on(requester, totp_code())
    assert not (await stored_again(services, person)).has_totp
    assert await services.access.sessions.of_person(person.id) == []


async def test_a_setup_that_is_ended_twice_at_one_moment_gives_codes_once(
    services: Services,
) -> None:
    person = await create_person(services)
    requester = await requester_of(services, person)
    await begin_totp(services, person.id, requester.session.id)
    done = await asyncio.gather(
        *(
            services.accounts.second_factor_setup.switch_on(requester, totp_code())
            for _ in range(3)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(one, TrackerError) for one in done) == 2
    assert len((await stored_again(services, person)).recovery_codes) == 10
