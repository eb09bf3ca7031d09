import pytest

from tracker.access.sign_in_limit import FOR_EMAIL, PER_MINUTE, network_digest
from tracker.errors import RateLimited
from tracker.service.services import Services

EMAIL, HOME, ELSEWHERE = "ada@example.com", "198.51.100.0/24", "203.0.113.0/24"


async def test_a_network_has_so_many_attempts_a_minute(services: Services) -> None:
    for _ in range(PER_MINUTE):
        await services.sign_in_limit.count_network(HOME)
    with pytest.raises(RateLimited) as refused:
        await services.sign_in_limit.count_network(HOME)
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 60
    await services.sign_in_limit.count_network(ELSEWHERE)


async def test_guesses_of_strangers_do_not_keep_a_person_out(services: Services) -> None:
    limit, known = services.sign_in_limit, [network_digest(HOME)]
    for number in range(FOR_EMAIL):
        await limit.count_email(EMAIL, f"203.0.{number}.0/24", known)
    with pytest.raises(RateLimited):
        await limit.count_email(EMAIL, ELSEWHERE, known)
    for _ in range(FOR_EMAIL):
        await limit.count_email(EMAIL, HOME, known)
    with pytest.raises(RateLimited):
        await limit.count_email(EMAIL, HOME, known)
    await limit.count_email("eve@example.com", ELSEWHERE, ())


async def test_a_success_forgets_the_attempts_before_it(services: Services) -> None:
    limit = services.sign_in_limit
    for _ in range(FOR_EMAIL):
        await limit.count_email(EMAIL, HOME, ())
    await limit.forget_email(EMAIL, HOME, ())
    await limit.count_email(EMAIL, HOME, ())


async def test_without_redis_each_process_limits_attempts_itself(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> None:
        return None

    monkeypatch.setattr(services.rate_limiter, "_counted", unavailable)
    for _ in range(PER_MINUTE):
        await services.sign_in_limit.count_network(HOME)
    with pytest.raises(RateLimited):
        await services.sign_in_limit.count_network(HOME)


async def test_without_redis_strangers_do_not_keep_a_person_out_either(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> None:
        return None

    monkeypatch.setattr(services.rate_limiter, "_counted", unavailable)
    limit, known = services.sign_in_limit, [network_digest(HOME)]
    with pytest.raises(RateLimited):
        for number in range(PER_MINUTE + 1):
            await limit.count_email(EMAIL, f"203.0.{number}.0/24", known)
    await limit.count_email(EMAIL, HOME, known)


async def test_no_e_mail_is_stored_in_redis(services: Services) -> None:
    await services.sign_in_limit.count_email(EMAIL, HOME, ())
    assert EMAIL not in str(await services.redis.keys("*"))
