"""A start with unusable stores prints one line, with the variable and the remedy. All are real."""

import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from pymongo import MongoClient

from config.settings import Settings
from tests.conversions import scene
from tests.db.own_mongodb import guarded_mongodb, uninitiated_mongodb
from tests.db.own_redis import own_redis, unavailable_redis
from tests.db.relay import relay
from tests.db.tls_front import tls_front
from tests.system.certificates import Authority
from tracker.builtin.servers import mongodb_uri
from tracker.db import connect
from tracker.db.check import check_mongodb, check_redis, mongodb_diagnosed
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


async def mongodb_says(uri: str) -> tuple[bool, str]:
    with (
        contextlib.closing(connect.mongodb(uri)) as client,
        pytest.raises((UnusableStore, StoreUnavailable)) as raised,
    ):
        await check_mongodb(client, uri)
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


async def test_a_redis_cluster_is_refused_with_the_reason(tmp_path: Path) -> None:
    with own_redis(tmp_path, "--cluster-enabled", "yes") as server:
        ends, line = await redis_says(server.url)
    assert ends
    assert line.startswith("REDIS_URL names a Redis Cluster, which is not supported")


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


@pytest.mark.parametrize("options", ["", "?replicaSet=rs0", "?directConnection=true"])
async def test_a_standalone_mongod_is_refused_with_the_remedy(
    standalone: str, options: str
) -> None:
    ends, line = await mongodb_says(f"mongodb://127.0.0.1:{port_of(standalone)}/{options}")
    assert ends
    assert line.startswith("MONGODB_URI names a standalone mongod")
    assert "--replSet rs0" in line
    assert "rs.initiate()" in line


async def test_tls_to_a_mongod_without_tls_is_named(standalone: str) -> None:
    port = port_of(standalone)
    ends, line = await mongodb_says(f"mongodb://127.0.0.1:{port}/?tls=true")
    assert ends
    assert line.startswith(f"MONGODB_URI: 127.0.0.1:{port} speaks no TLS: leave out tls=true")


@pytest.fixture
def uninitiated(tmp_path: Path) -> Iterator[int]:
    with uninitiated_mongodb(tmp_path) as port:
        yield port


async def test_a_replica_set_that_was_never_initiated_is_waited_for_and_then_used(
    uninitiated: int,
) -> None:
    for options in ("", "?replicaSet=rs0", "?directConnection=true"):
        ends, line = await mongodb_says(f"mongodb://127.0.0.1:{uninitiated}/{options}")
        assert not ends
        assert "never initiated: run once: mongosh --eval 'rs.initiate()'" in line
    with MongoClient[dict[str, Any]](mongodb_uri(uninitiated)) as client:
        members = [{"_id": 0, "host": f"127.0.0.1:{uninitiated}"}]
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": members})
    uri = f"mongodb://127.0.0.1:{uninitiated}/?replicaSet=rs0"
    with contextlib.closing(connect.mongodb(uri)) as used:
        await used.admin.command("ping")
        await check_mongodb(used, uri)


@pytest.mark.parametrize("options", ["", "&directConnection=true"])
async def test_a_wrong_name_of_the_replica_set_is_named(settings: Settings, options: str) -> None:
    port = port_of(settings.mongodb_uri)
    ends, line = await mongodb_says(f"mongodb://127.0.0.1:{port}/?replicaSet=other{options}")
    assert ends
    assert line == (
        "MONGODB_URI: its servers are of the replica set rs0: write replicaSet=rs0 instead of other"
    )


async def test_an_unavailable_mongodb_does_not_end_the_start() -> None:
    assert await mongodb_says(f"mongodb://{NO_HOST}/?replicaSet=rs0") == (
        False,
        f"MONGODB_URI: no address is known for the host of {NO_HOST}:27017: "
        "correct the name if it is wrong",
    )
    port = port_of(unavailable_redis())
    assert await mongodb_says(f"mongodb://127.0.0.1:{port}/?replicaSet=rs0") == (
        False,
        f"MONGODB_URI: nothing listens at 127.0.0.1:{port}",
    )
    ends, line = await mongodb_says(f"mongodb+srv://db.{NO_HOST}/")
    assert not ends
    assert "mongodb+srv://" in line


# If PyMongo is cancelled between connecting and the handshake, it does not close the socket.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
async def test_faults_of_a_mongod_with_passwords_and_tls_are_named(
    tmp_path: Path, authority: Authority
) -> None:
    with guarded_mongodb(tmp_path, authority) as uri:
        address, query = urlsplit(uri).netloc.rpartition("@")[2], urlsplit(uri).query
        for given, said in (
            (f"mongodb://tracker:geheim@{address}/?{query}", "refuses the user or the password"),
            (f"mongodb://tracker:geheim@{address}/", f"{address} speaks TLS only: add tls=true"),
            (
                f"mongodb://tracker:geheim@{address}/?tls=true",
                f"the certificate of {address} is not trusted",
            ),
            (
                f"mongodb://tracker:geheim@{address}/?{query}".replace("localhost", "127.0.0.1"),
                "is not for this host",
            ),
        ):
            ends, line = await mongodb_says(given)
            assert (ends, "geheim" in line) == (True, False)
            assert line.startswith("MONGODB_URI: ")
            assert said in line
        nobodys = f"mongodb://{address}/?{query}"
        with (
            contextlib.closing(connect.mongodb(nobodys)) as client,
            pytest.raises(UnusableStore, match="asks for a user"),
        ):
            async with mongodb_diagnosed(nobodys):
                await client["tracker"]["links"].find_one({})
    gc.collect()  # while its warning is ignored


async def test_a_mongodb_that_stops_during_the_preparation_does_not_end_the_start(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "MONGODB_TIMEOUT_SECONDS", 1.0)
    async with relay(port_of(services.settings.mongodb_uri)) as way:
        uri = f"mongodb://127.0.0.1:{way.port}/?directConnection=true"
        settings = msgspec.structs.replace(services.settings, mongodb_uri=uri)
        async with scene.process(settings) as far:
            way.cut_at(b"update\x00\x07\x00\x00\x00events\x00", arrives=False)
            with pytest.raises(StoreUnavailable):
                await far.prepare()
            assert way.was_cut.is_set()


async def test_duplicates_that_prevent_a_unique_index_are_named(services: Services) -> None:
    links = services.database["links"]
    await links.drop_index("by_domain_and_slug")
    twin = {"domain_id": None, "slug": "same"}
    await links.insert_many([{"_id": 1, **twin}, {"_id": 2, **twin}])
    try:
        with pytest.raises(UnusableStore) as raised:
            await services.prepare()
    finally:
        await links.delete_many({})
        await services.prepare()
    line = str(raised.value)
    assert 'domain_id: null, slug: "same"' in line
    assert f"the unique index by_domain_and_slug of {services.database.name}.links" in line


async def test_a_different_index_in_the_place_of_ours_is_named(services: Services) -> None:
    tags = services.database["tags"]
    await tags.drop_index("by_name")
    await tags.create_index([("account_id", 1), ("key", 1)], name="by_name")
    try:
        with pytest.raises(UnusableStore, match="by_name"):
            await services.prepare()
    finally:
        await tags.drop_index("by_name")
        await services.prepare()
