from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tests.web.person import BROWSER, create_person
from tracker.access.rate_limit import LimitScope, Usage
from tracker.access.sessions import SessionClient
from tracker.accounts.people import Person
from tracker.accounts.sign_in_limit import (
    FOR_EMAIL,
    FOR_NETWORK,
    FOR_SHARE,
    PER_MINUTE,
    Refusal,
    network_digest,
)
from tracker.ids import new_id
from tracker.limits.network import truncated
from tracker.metrics import RATE_LIMITED
from tracker.service.services import Services

pytestmark = pytest.mark.redis

EMAIL, HOME, ELSEWHERE = "ada@example.com", "198.51.100.7", "203.0.113.7"


def client_at(services: Services, address: str) -> SessionClient:
    counted_as = services.access.rate_limiter.counted_as(address)
    return replace(BROWSER, address=truncated(address), counted_as=counted_as)


async def person_of(services: Services, address: str) -> Person:
    person = await create_person(services, EMAIL)
    return replace(person, networks=[network_digest(truncated(address))])


async def test_every_limit_has_its_documented_attempts_and_seconds(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    scopes = set[tuple[str, int, int]]()

    async def noted(counters: Sequence[tuple[str, LimitScope]]) -> list[Usage]:
        scopes.update(scope for _, scope in counters)
        return []

    monkeypatch.setattr(services.access.rate_limiter, "count_scopes", noted)
    limit, person = services.accounts.sign_in_limit, await person_of(services, HOME)
    home = client_at(services, HOME)
    await limit.count(EMAIL, home)
    await limit.count_reserve(person, home)
    await limit.count_token(new_id())
    await limit.count_share(new_id(), HOME)
    assert scopes == {
        ("sign_in", 20, 60),
        ("sign_in_email", 10, 900),
        ("sign_in_reserve", 10, 900),
        ("sign_in_reserve_network", 30, 900),
        ("sign_in_link", 20, 60),
        ("share_password", 20, 60),
        ("share_password_total", 2_000, 3600),
    }


def test_a_refusal_is_counted_under_its_scope_and_tells_when_to_retry() -> None:
    counted = RATE_LIMITED.labels("sign_in")._value
    before = counted.get()
    error = Refusal("sign_in", 42).error()
    assert counted.get() == before + 1
    assert error.headers == {"Retry-After": "42"}


@pytest.mark.parametrize(
    ("address", "beside"),
    [("198.51.100.7", "198.51.100.8"), ("2001:db8:1:2::7", "2001:db8:1:3::7")],
)
async def test_others_of_the_same_network_are_not_refused_with_it(
    services: Services, address: str, beside: str
) -> None:
    limit = services.accounts.sign_in_limit
    for number in range(PER_MINUTE + 1):
        refusal = await limit.count(f"{number}@example.com", client_at(services, address))
    assert refusal is not None
    assert await limit.count("other@example.com", client_at(services, beside)) is None


async def test_an_address_beyond_its_limit_uses_up_no_limit_of_an_e_mail(
    services: Services,
) -> None:
    limit = services.accounts.sign_in_limit
    for number in range(PER_MINUTE):
        await limit.count(f"{number}@example.com", client_at(services, HOME))
    for _ in range(FOR_EMAIL):
        await limit.count(EMAIL, client_at(services, HOME))
    assert await limit.count(EMAIL, client_at(services, ELSEWHERE)) is None


async def test_one_host_of_a_network_does_not_use_up_the_reserve_of_another(
    services: Services,
) -> None:
    limit, person = services.accounts.sign_in_limit, await person_of(services, HOME)
    beside = client_at(services, "198.51.100.8")
    guesses = [await limit.count_reserve(person, beside) for _ in range(FOR_NETWORK)]
    assert [one is None for one in guesses[-2 * FOR_EMAIL :]] == [False] * 2 * FOR_EMAIL
    assert await limit.count_reserve(person, client_at(services, HOME)) is None


@pytest.mark.parametrize("pattern", ["198.51.100.{}", "2001:db8:1:{:x}::7"])
async def test_all_addresses_of_a_known_network_share_a_reserve(
    services: Services, pattern: str
) -> None:
    limit, person = services.accounts.sign_in_limit, await person_of(services, pattern.format(1))
    for number in range(FOR_NETWORK):
        client = client_at(services, pattern.format(number))
        assert await limit.count_reserve(person, client) is None
    assert await limit.count_reserve(person, client_at(services, pattern.format(99))) is not None


async def test_a_success_forgets_the_attempts_of_the_reserve_before_it(services: Services) -> None:
    limit, person = services.accounts.sign_in_limit, await person_of(services, HOME)
    home = client_at(services, HOME)
    for _ in range(FOR_EMAIL):
        await limit.count_reserve(person, home)
    await limit.forget_reserve(person, home)
    assert await limit.count_reserve(person, home) is None


async def test_a_share_has_a_limit_of_each_address_and_one_of_all(services: Services) -> None:
    limit, share = services.accounts.sign_in_limit, new_id()
    guesses = [await limit.count_share(share, HOME) for _ in range(PER_MINUTE + 1)]
    assert [one is None for one in guesses] == [True] * PER_MINUTE + [False]
    for number in range(FOR_SHARE - PER_MINUTE):
        assert await limit.count_share(share, f"2001:db8:1:{number:x}::/64") is None
    refusal = await limit.count_share(share, ELSEWHERE)
    assert refusal is not None
    assert refusal.scope == "share_password_total"
    assert await limit.count_share(new_id(), ELSEWHERE) is None


async def test_without_redis_each_process_limits_attempts_itself(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await be_without_redis(services, monkeypatch)
    limit, home = services.accounts.sign_in_limit, client_at(services, HOME)
    for number in range(PER_MINUTE):
        assert await limit.count(f"{number}@example.com", home) is None
    assert await limit.count("another@example.com", home) is not None
    for number in range(PER_MINUTE):
        assert await limit.count(EMAIL, client_at(services, f"203.0.{number}.7")) is None
    assert await limit.count(EMAIL, client_at(services, ELSEWHERE)) is not None
    # Strangers do not keep a person out of a known network either.
    assert await limit.count_reserve(await person_of(services, HOME), home) is None


async def test_no_e_mail_is_stored_in_redis(services: Services) -> None:
    person, home = await person_of(services, HOME), client_at(services, HOME)
    await services.accounts.sign_in_limit.count(EMAIL, home)
    await services.accounts.sign_in_limit.count_reserve(person, home)
    assert EMAIL not in str(await services.stores.redis.keys("*"))


async def be_without_redis(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unavailable(*_: object) -> None:
        return None

    monkeypatch.setattr(services.access.rate_limiter._groups, "submit", unavailable)
