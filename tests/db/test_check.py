"""A start with an unusable Redis prints one line: the variable and the remedy. All are real."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from config.settings import Settings
from tests.db.own_redis import own_redis, unavailable_redis
from tests.db.tls_front import tls_front
from tests.system.certificates import Authority
from tracker.db import connect
from tracker.db.check import check_redis
from tracker.db.connect import StoreUnavailable, UnusableStore
from tracker.service.services import Services

NO_HOST = "no-such-host.invalid"


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port


async def redis_says(url: str) -> tuple[bool, str]:
    """Return whether the fault of Redis ends the start, and its line."""
    async with connect.redis_for_requests(url) as client:
        with pytest.raises((UnusableStore, StoreUnavailable)) as raised:
            await check_redis(client, url)
    assert "\n" not in str(raised.value)
    return raised.type is UnusableStore, str(raised.value)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def test_usable_stores_pass(services: Services) -> None:
    await services.check_redis()
    await services.check_mongodb()


async def test_a_missing_or_wrong_password_of_redis_is_named(tmp_path: Path) -> None:
    with own_redis(tmp_path) as server:
        port = port_of(server.url)
        ends, line = await redis_says(f"redis://:geheim@127.0.0.1:{port}/0")
        assert (ends, "geheim" in line) == (True, False)
        assert line.startswith("REDIS_URL: it has a password, but Redis has none")
        async with connect.redis_for_requests(server.url) as client:
            await client.config_set("requirepass", "right")
        ends, line = await redis_says(server.url)
        assert ends
        assert line.startswith("REDIS_URL: Redis asks for a password")
        for user in ("", "joe"):
            ends, line = await redis_says(f"redis://{user}:geheim@127.0.0.1:{port}/0")
            assert (ends, "geheim" in line) == (True, False)
            assert line.startswith("REDIS_URL: Redis refuses the user or the password")


async def test_a_redis_database_that_does_not_exist_is_named(settings: Settings) -> None:
    ends, line = await redis_says(settings.redis_url.removesuffix("/0") + "/99")
    assert ends
    assert line.startswith("REDIS_URL: Redis has no database of this number")


async def test_a_server_of_a_redis_cluster_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with own_redis(tmp_path, "--cluster-enabled", "yes") as server:
        ends, line = await redis_says(server.url)
    assert ends
    assert line.startswith("REDIS_URL names a server of a Redis Cluster: begin it with redis+")


async def test_a_redis_that_answers_but_takes_no_writes_is_named(tmp_path: Path) -> None:
    with own_redis(tmp_path) as server:
        async with connect.redis_for_requests(server.url) as client:
            await client.config_set("maxmemory", 1)
            ends, line = await redis_says(server.url)
            assert not ends
            assert line == "REDIS_URL: Redis is full: give it more memory (maxmemory)"
            await client.config_set("maxmemory", 0)
            await client.replicaof("127.0.0.1", str(port_of(unavailable_redis())))
        assert await redis_says(server.url) == (
            False,
            "REDIS_URL: Redis is a replica, which takes no writes: name its primary, or wait until "
            "it is one",
        )


async def test_an_unavailable_redis_does_not_end_the_start() -> None:
    assert await redis_says(f"redis://{NO_HOST}:6379/0") == (
        False,
        f"REDIS_URL: no address is known for the host of {NO_HOST}:6379: "
        "correct the name if it is wrong",
    )
    away = unavailable_redis()
    assert await redis_says(away) == (
        False,
        f"REDIS_URL: nothing listens at 127.0.0.1:{port_of(away)}",
    )
    assert await redis_says("unix:///nowhere/redis.sock") == (
        False,
        "REDIS_URL: there is no socket at /nowhere/redis.sock",
    )


async def test_tls_on_one_side_only_is_named_for_redis(
    settings: Settings, authority: Authority
) -> None:
    port = port_of(settings.redis_url)
    ends, line = await redis_says(f"rediss://127.0.0.1:{port}/0")
    assert ends
    assert line.startswith(f"REDIS_URL: 127.0.0.1:{port} speaks no TLS: begin it with redis://")
    async with tls_front(port, authority.issue()) as with_tls:
        ends, line = await redis_says(f"redis://localhost:{with_tls}/0")
    assert ends
    assert line.startswith(f"REDIS_URL: localhost:{with_tls} speaks TLS only: begin it with redis")


async def test_an_untrusted_certificate_of_redis_is_named_with_both_remedies(
    settings: Settings, authority: Authority, tmp_path: Path
) -> None:
    trusted = tmp_path / "trusted.pem"
    authority.write(trusted)
    async with tls_front(port_of(settings.redis_url), authority.issue()) as port:
        ends, line = await redis_says(f"rediss://localhost:{port}/0")
        assert ends
        assert f"the certificate of localhost:{port} is not trusted" in line
        ends, other = await redis_says(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={trusted}")
        assert ends
        assert "is not for this host" in other
        for way_out in (f"ssl_ca_certs={trusted}", "ssl_cert_reqs=none"):
            assert way_out.partition("=")[0] in line
            url = f"rediss://localhost:{port}/0?{way_out}"
            async with connect.redis_for_requests(url) as client:
                await check_redis(client, url)


async def test_a_redis_that_asks_for_our_certificate_is_named(
    settings: Settings, authority: Authority, tmp_path: Path
) -> None:
    trusted = tmp_path / "trusted.pem"
    authority.write(trusted)
    files = authority.issue()
    async with tls_front(port_of(settings.redis_url), files, str(trusted)) as port:
        url = f"rediss://localhost:{port}/0?ssl_cert_reqs=none"
        ends, line = await redis_says(url)
        assert not ends  # a balancer whose servers are away does the same
        assert "ssl_certfile=<file>&ssl_keyfile=<file>" in line
        own = f"{url}&ssl_certfile={files.cert}&ssl_keyfile={files.key}"
        async with connect.redis_for_requests(own) as client:
            await check_redis(client, own)
