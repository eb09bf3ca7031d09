"""A start with an unusable Redis prints one line: the remedy, or the error. All are real."""

from pathlib import Path

import pytest

from config.settings import Settings
from lab.processes import Process
from tests.ports import free_port
from tests.stores.redis.own_redis import own_redis, started, unavailable_redis, with_options
from tests.stores.startup.addresses import NO_HOST, port_of
from tests.stores.tls_front import tls_front
from tests.system.certificates import Authority
from tracker.service.services import Services
from tracker.stores.builtin.servers import redis_program
from tracker.stores.redis import clients
from tracker.stores.startup.checks import check_mongodb, check_redis
from tracker.stores.startup.diagnosis import StoreUnavailable, UnusableStore

pytestmark = pytest.mark.redis


async def redis_says(url: str) -> tuple[bool, str]:
    """Return whether the fault of Redis ends the start, and its line."""
    async with clients.redis_for_requests(url) as client:
        with pytest.raises((UnusableStore, StoreUnavailable)) as raised:
            await check_redis(client)
    assert "\n" not in str(raised.value)
    return raised.type is UnusableStore, str(raised.value)


async def test_usable_stores_pass(services: Services) -> None:
    await check_redis(services.stores.redis)
    await check_mongodb(services.stores.mongodb.client)


async def test_a_missing_or_wrong_password_of_redis_is_named(tmp_path: Path) -> None:
    with own_redis(tmp_path) as server:
        port = port_of(server.url)
        ends, line = await redis_says(f"redis://:geheim@127.0.0.1:{port}/0")
        assert (ends, "geheim" in line) == (True, False)
        assert line.startswith("REDIS_URL: it has a password, but Redis has none")
        async with clients.redis_for_requests(server.url) as client:
            await client.config_set("requirepass", "right")
        ends, line = await redis_says(server.url)
        assert ends
        assert line.startswith("REDIS_URL: Redis asks for a password")
        for user in ("", "joe"):
            ends, line = await redis_says(f"redis://{user}:geheim@127.0.0.1:{port}/0")
            assert (ends, "geheim" in line) == (True, False)
            assert line.startswith("REDIS_URL: Redis refuses the user or the password")


async def test_a_server_of_a_redis_cluster_is_refused_with_the_remedy(tmp_path: Path) -> None:
    program = with_options(redis_program(tmp_path), "--cluster-enabled", "yes")
    # Other servers would reach it 10,000 above: not among the kernel's ports, which may be taken.
    with started(Process(program, free_port() - 10_000)) as server:
        ends, line = await redis_says(server.url)
    assert ends
    assert line.startswith("REDIS_URL names a server of a Redis Cluster: begin it with redis+")


async def test_a_redis_that_answers_but_takes_no_writes_is_named(tmp_path: Path) -> None:
    with own_redis(tmp_path) as server:
        async with clients.redis_for_requests(server.url) as client:
            await client.config_set("maxmemory", 1)
            ends, line = await redis_says(server.url)
            assert not ends
            assert line.startswith("REDIS_URL: Redis cannot be used: ")
            assert "maxmemory" in line
            await client.config_set("maxmemory", 0)
            await client.replicaof("127.0.0.1", str(port_of(unavailable_redis())))
        ends, line = await redis_says(server.url)
        assert not ends
        assert "read only replica" in line


async def test_a_wrong_number_ends_the_start_and_an_unavailable_redis_does_not(
    settings: Settings,
) -> None:
    away = unavailable_redis()
    ends, line = await redis_says(f"{settings.redis_url}?db=99")
    assert ends
    assert line.startswith("REDIS_URL: Redis has no database of this number")
    for url, said in (
        (away, f"connecting to 127.0.0.1:{port_of(away)}"),
        (f"redis://:geheim@{NO_HOST}:6379/0", f"connecting to {NO_HOST}:6379"),
        ("unix:///nowhere/redis.sock", "/nowhere/redis.sock"),
    ):
        ends, line = await redis_says(url)
        assert (ends, "geheim" in line) == (False, False)
        assert line.startswith("REDIS_URL: Redis cannot be used: ")
        assert said in line


async def test_certificates_are_checked_unless_the_url_says_otherwise(
    settings: Settings, tmp_path: Path
) -> None:
    authority, trusted = Authority(tmp_path), tmp_path / "trusted.pem"
    authority.write(trusted)
    files = authority.issue()
    own = f"ssl_certfile={files.cert}&ssl_keyfile={files.key}"
    ours = f"ssl_ca_certs={trusted}", "ssl_cert_reqs=none"
    for clients_of, refused, said, accepted in (
        (None, "", "certificate verify failed", ours),
        (str(trusted), "ssl_cert_reqs=none", "", [f"{one}&{own}" for one in ours]),
    ):
        async with tls_front(settings.redis_url, files, clients_of) as port:
            url = f"rediss://localhost:{port}/0?"
            ends, line = await redis_says(url + refused)
            assert not ends
            assert line.startswith("REDIS_URL: Redis cannot be used: ")
            assert said in line
            for query in accepted:
                async with clients.redis_for_requests(url + query) as client:
                    await check_redis(client)
