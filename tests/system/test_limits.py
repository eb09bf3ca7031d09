"""Rate limits of two services on the same stores: exactly the allowed requests of a burst pass."""

import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest
import redis

from config.settings import Settings
from tests.system.owner import Owner, new_owner
from tests.system.service import PATIENT, Response, Service, environment, running

PER_MINUTE, PER_HOUR = 20, 50
CONNECTIONS = 4
REQUESTS_EACH = 15


@pytest.fixture
def services(settings: Settings) -> Iterator[tuple[Service, Service]]:
    variables = environment(
        settings,
        RATE_LIMIT_IP_PER_MINUTE=str(PER_MINUTE),
        RATE_LIMIT_ACCOUNT_PER_HOUR=str(PER_HOUR),
        TRUSTED_PROXIES="1",
    )
    with (
        running(variables, program=PATIENT) as one,
        running(variables, program=PATIENT) as other,
    ):
        yield one, other


def burst(services: tuple[Service, Service], owner: Owner, many: bool) -> list[Response]:
    """Send requests on several connections to each service at once, of one address or of `many`."""
    answers: list[Response] = []
    together = threading.Barrier(CONNECTIONS * len(services))

    def ask(service: Service, number: int) -> None:
        headers = {"Authorization": f"Bearer {owner.key}"}
        with service.client() as client:
            together.wait()
            for request in range(REQUESTS_EACH):
                address = f"203.0.113.{number * REQUESTS_EACH + request if many else 7}"
                path = f"/api/short-links?accountId={owner.account_id}"
                sent = headers | {"X-Forwarded-For": address}
                answers.append(client("GET", path, headers=sent))

    askers = [
        threading.Thread(target=ask, args=(service, number * len(services) + index))
        for number in range(CONNECTIONS)
        for index, service in enumerate(services)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    return answers


def check(answers: list[Response], allowed: int) -> None:
    """Check that exactly `allowed` passed, and that each answer says what is left."""
    assert len(answers) == 2 * CONNECTIONS * REQUESTS_EACH
    statuses = Counter(answer.status for answer in answers)
    assert statuses == {200: allowed, 429: len(answers) - allowed}
    for answer in answers:
        assert ("retry-after" in answer.headers) == (answer.status == 429)
        assert 0 < int(answer.headers["x-ratelimit-reset"]) - time.time() <= 3600 + 1
    passed = [answer for answer in answers if answer.status == 200]
    assert min(int(answer.headers["x-ratelimit-remaining"]) for answer in passed) == 0


def test_exactly_the_allowed_requests_of_an_address_pass_in_each_window(
    settings: Settings, services: tuple[Service, Service]
) -> None:
    owner = new_owner(environment(settings))
    answers = burst(services, owner, many=False)
    check(answers, PER_MINUTE)
    remaining = [int(one.headers["x-ratelimit-remaining"]) for one in answers if one.status == 200]
    assert sorted(remaining) == list(range(PER_MINUTE))
    with redis.Redis.from_url(settings.redis_url) as client:
        assert client.pexpire("rate_limit:ip:203.0.113.7", 1)
    check(burst(services, owner, many=False), PER_MINUTE)


def test_exactly_the_allowed_requests_of_an_account_pass_and_visitors_always_do(
    settings: Settings, services: tuple[Service, Service]
) -> None:
    owner = new_owner(environment(settings))
    assert owner.create_link(services[0], slug="free").status == 200
    check(burst(services, owner, many=True), PER_HOUR - 1)
    for service in services:
        with service.client() as client:
            statuses = {client("GET", "/c/free").status for _ in range(2 * PER_MINUTE)}
        assert statuses == {302}
