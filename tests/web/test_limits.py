"""Rate limits over HTTP: which requests count, the headers of answers, the calls to Redis."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from email.utils import parsedate_to_datetime
from uuid import UUID

import msgspec
import orjson
import pytest

from config.settings import Settings
from tests.clock import Clock
from tests.factories import LANDING, create_event_config, create_link
from tests.links.api.short_links import PATH
from tests.stores.cache.listening import listening
from tests.stores.mongodb.profiler import profiled
from tests.waiting import eventually
from tests.web.client import Client, Response
from tests.web.world import World
from tracker.access import api_keys
from tracker.access.rate_limit import RateLimiter
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.metrics import RATE_LIMITED
from tracker.service.services import Services
from tracker.stores.breaker import Breaker
from tracker.stores.cache import trusted_memory
from tracker.stores.redis import keys
from tracker.web.limits import MAX_BODY_BYTES

PER_MINUTE, PER_HOUR = 10, 15
PEER = "127.0.0.1"
LIMITS = {
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit-policy",
    "ratelimit",
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return msgspec.structs.replace(
        settings,
        rate_limit_ip_per_minute=PER_MINUTE,
        rate_limit_account_per_hour=PER_HOUR,
        trusted_proxies="1",
    )


async def listed(
    client: Client, secret: str | None, account: Account, address: str = PEER
) -> Response:
    headers: dict[str, str | bytes] = {"X_Forwarded_For": address}
    if secret is not None:
        headers["Authorization"] = f"Bearer {secret}"
    return await client.request("GET", f"{PATH}?accountId={account.id}", headers)


def limits(response: Response) -> tuple[int, int]:
    """Return the limit and the requests left, as the answer shows them."""
    headers = response.headers
    return int(headers["X-RateLimit-Limit"]), int(headers["X-RateLimit-Remaining"])


def shown(response: Response) -> set[str]:
    """Return the names of the limit headers that the answer has."""
    return LIMITS & {name.lower() for name in response.headers}


def sent_at(response: Response) -> float:
    return parsedate_to_datetime(response.headers["Date"]).timestamp()


def check_figures(response: Response) -> None:
    """Check that the answer has every limit header, and that they agree."""
    headers = response.headers
    assert shown(response) == LIMITS
    limit, remaining = limits(response)
    window = {PER_MINUTE: 60, PER_HOUR: 3600}[limit]
    scope = {PER_MINUTE: "ip", PER_HOUR: "account"}[limit]
    reset = int(headers["X-RateLimit-Reset"])
    assert 0 < reset - sent_at(response) <= window + 1
    policies = headers["RateLimit-Policy"].split(", ")
    assert policies in (
        ['"ip";q=10;w=60'],
        ['"ip";q=10;w=60', '"account";q=15;w=3600'],
    )
    figures = dict(part.split(";", 1) for part in headers["RateLimit"].split(", "))
    assert list(figures) == [policy.partition(";")[0] for policy in policies]
    left, seconds = figures[f'"{scope}"'].split(";")
    assert left == f"r={remaining}"
    assert abs(int(seconds.removeprefix("t=")) + sent_at(response) - reset) < 3


MISSING = str(UUID(int=404))
NO_BODY = b""
ANSWERS: list[tuple[str, str, bytes, Mapping[str, str], int]] = [
    ("GET", f"{PATH}?accountId=ACCOUNT", NO_BODY, {}, 200),
    ("POST", PATH, b"BODY", {}, 200),
    ("GET", f"{PATH}?page=0", NO_BODY, {}, 400),
    ("POST", PATH, b"{", {}, 400),
    ("POST", PATH, b"x", {"Content_Type": "multipart/form-data; boundary=q"}, 400),
    ("GET", PATH, NO_BODY, {"Authorization": ""}, 401),
    ("GET", PATH, NO_BODY, {"Authorization": "Bearer trk_unknown"}, 401),
    ("GET", f"{PATH}?accountId={MISSING}", NO_BODY, {}, 403),
    ("GET", f"{PATH}/{MISSING}", NO_BODY, {}, 404),
    ("PUT", PATH, NO_BODY, {}, 405),
    ("PROPFIND", PATH, NO_BODY, {}, 405),
    ("POST", PATH, b" " * (MAX_BODY_BYTES + 1), {}, 413),
]


@pytest.mark.parametrize("known", [False, True])
async def test_every_answer_says_how_many_requests_are_left(world: World, known: bool) -> None:
    account_id = str(world.account.id)
    async with listening(world.services.changes):
        for method, path, body, headers, status in ANSWERS:
            if known:
                await remembered(world.services, world.client, world.account, world.secret)
            if body == b"BODY":
                body = orjson.dumps({"accountId": account_id, "destination_url": LANDING})
            sent: dict[str, str | bytes] = {"Authorization": f"Bearer {world.secret}", **headers}
            target = path.replace("ACCOUNT", account_id)
            response = await world.client.request(method, target, sent, body)
            assert response.status == status
            check_figures(response)
            assert limits(response) == (PER_MINUTE, PER_MINUTE - 1 - 2 * known)
            assert "Retry-After" not in response.headers
            assert ("account" in response.headers["RateLimit"]) == (status not in (401, 405))
            await world.services.stores.redis.flushdb()


async def test_the_request_after_the_last_of_an_address_is_refused_until_its_window_ends(
    world: World,
) -> None:
    before = RATE_LIMITED.labels("ip")._value.get()
    statuses = []
    for _ in range(PER_MINUTE + 2):
        response = await listed(world.client, world.secret, world.account)
        check_figures(response)
        statuses.append((response.status, limits(response)[1]))
    allowed = [(200, left) for left in reversed(range(PER_MINUTE))]
    assert statuses == [*allowed, (429, 0), (429, 0)]
    assert response.error == "rate limit: 10 requests per minute for each IP address"
    assert 1 <= int(response.headers["Retry-After"]) <= 60
    again_at = sent_at(response) + int(response.headers["Retry-After"])
    assert abs(again_at - int(response.headers["X-RateLimit-Reset"])) < 2
    assert RATE_LIMITED.labels("ip")._value.get() == before + 2

    await world.services.stores.redis.delete(keys.rate_limit("ip", PEER))
    response = await listed(world.client, world.secret, world.account)
    assert (response.status, limits(response)) == (200, (PER_HOUR, PER_HOUR - PER_MINUTE - 1))


async def test_the_request_after_the_last_of_an_account_is_refused_from_any_address_and_key(
    world: World,
) -> None:
    _, second = await world.services.access.api_keys.create(world.account.id, "second")
    _, other = await world.services.access.api_keys.create(world.other_account.id, "other")
    seen = []
    for number in range(PER_HOUR):
        response = await listed(
            world.client, (world.secret, second)[number % 2], world.account, f"10.0.0.{number}"
        )
        check_figures(response)
        seen.append((response.status, *limits(response)))
    # The tighter of the two: each address has 9 left.
    assert seen[:5] == [(200, PER_MINUTE, 9)] * 5
    assert seen[5:] == [(200, PER_HOUR, left) for left in reversed(range(10))]
    for key in (world.secret, second):
        response = await listed(world.client, key, world.account, "10.0.1.1")
        assert (response.status, limits(response)) == (429, (PER_HOUR, 0))
        assert response.error == "rate limit: 15 requests per hour for each account"
        assert 3500 <= int(response.headers["Retry-After"]) <= 3600
        check_figures(response)
    assert (await listed(world.client, other, world.other_account, "10.0.1.1")).status == 200


async def used(services: Services, account: Account) -> int:
    name = keys.rate_limit("account", str(account.id))
    return int(await services.stores.redis.get(name) or 0)


async def remembered(services: Services, client: Client, account: Account, secret: str) -> None:
    """Have a process that hears of changes remember the key, by two requests."""
    for _ in range(2):  # the first stores that the key is in use
        assert (await listed(client, secret, account)).status == 200
    assert services.access.api_keys.peek_account(secret) == account.id


async def test_a_401_counts_for_the_address_and_not_for_the_account(world: World) -> None:
    key, revoked = await world.services.access.api_keys.create(world.account.id, "revoked")
    async with listening(world.services.changes):
        await remembered(world.services, world.client, world.account, revoked)
        await world.services.access.api_keys.revoke(key.id)
        for number, sent in enumerate((None, "trk_unknown", revoked, revoked), 3):
            response = await listed(world.client, sent, world.account)
            assert response.status == 401
            assert limits(response) == (PER_MINUTE, PER_MINUTE - number)
            assert await used(world.services, world.account) == 2
            assert "account" not in response.headers["RateLimit"]
        for _ in range(PER_MINUTE - 6):
            assert (await listed(world.client, "trk_unknown", world.account)).status == 401
        for sent in ("trk_unknown", None, revoked, world.secret):
            assert (await listed(world.client, sent, world.account)).status == 429
    assert await used(world.services, world.account) == 2


async def test_a_key_that_expires_while_it_is_remembered_uses_up_nothing_of_its_account(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = now() + timedelta(hours=1)
    _, secret = await world.services.access.api_keys.create(
        world.account.id, "expiring", expires_at=end
    )
    async with listening(world.services.changes):
        await remembered(world.services, world.client, world.account, secret)
        monkeypatch.setattr(api_keys, "now", lambda: end)
        for _ in range(3):
            assert (await listed(world.client, secret, world.account)).status == 401
    assert await used(world.services, world.account) == 2


async def test_an_ordinary_request_costs_one_call_for_both_limits_and_no_look_up_of_its_key(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)  # a key in memory stays new
    async with listening(world.services.changes):
        await remembered(world.services, world.client, world.account, world.secret)
        await world.services.stores.redis.config_resetstat()
        async with profiled(world.services.stores.mongodb.database) as rows:
            assert (await listed(world.client, world.secret, world.account)).status == 200
    stats = await world.services.stores.redis.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): one["calls"] for name, one in stats.items()}
    assert calls.pop("evalsha") == 1
    assert not calls.keys() & {"get", "set", "decr"}
    assert not [row for row in rows if row["ns"].endswith(".api_keys")]


async def test_an_address_over_its_limit_costs_no_look_up_of_its_key(world: World) -> None:
    _, unknown = await world.services.access.api_keys.create(world.account.id, "not seen yet")
    await listed(world.client, world.secret, world.account)
    await world.services.stores.redis.incrby(keys.rate_limit("ip", PEER), PER_MINUTE)
    async with profiled(world.services.stores.mongodb.database) as rows:
        for sent in (world.secret, unknown, "trk_none", None):
            assert (await listed(world.client, sent, world.account)).status == 429
    assert rows == []
    assert await used(world.services, world.account) == 1


async def test_clicks_events_and_health_have_no_limit(world: World) -> None:
    await create_link(world.services, world.account.id, "abc")
    config = await create_event_config(world.services, world.account.id)
    for _ in range(PER_MINUTE + 3):
        for path, status in (
            ("/c/abc", 302),
            ("/api/click?s=abc", 302),
            (f"/api/event?pbk={config.pbk}", 200),
            ("/c/none", 404),
            ("/healthz", 200),
            ("/none", 404),
        ):
            response = await world.client.get(path)
            assert response.status == status
            assert not shown(response)
    assert not await world.services.stores.redis.keys("rate_limit:*")


async def test_an_answer_shows_no_limit_where_there_is_none(world: World) -> None:
    world.services.web = world.services.web._replace(
        rate_limiter=RateLimiter(world.services.stores.redis, Breaker(), 0, 0)
    )
    for secret, status in ((world.secret, 200), (None, 401)):
        response = await listed(world.client, secret, world.account)
        assert (response.status, shown(response)) == (status, set())


async def test_every_request_with_a_key_or_without_waits_for_its_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, under_way = asyncio.Event(), []

    async def turn() -> None:
        under_way.append("turn")
        await begin.wait()

    monkeypatch.setattr(world.services.web.pacing, "wait_turn", turn)
    asked = [
        asyncio.create_task(listed(world.client, key, world.account))
        for key in (world.secret, None)
    ]
    await eventually(lambda: len(under_way) >= len(asked))
    assert not await world.services.stores.redis.keys("rate_limit:*")
    begin.set()
    assert [response.status for response in await asyncio.gather(*asked)] == [200, 401]
