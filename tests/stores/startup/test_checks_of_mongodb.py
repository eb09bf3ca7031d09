"""A start with an unusable MongoDB prints one line: the remedy, or the error. All are real."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dns.resolver
import msgspec
import pytest
from pymongo import MongoClient

from config.settings import Settings
from tests.conversions import scene
from tests.dns.dns_server import in_a_thread
from tests.ports import free_port
from tests.stores.mongodb.own_mongodb import guarded_mongodb, uninitiated_mongodb
from tests.stores.relay import relay
from tests.stores.startup.addresses import NO_HOST, port_of
from tests.system.certificates import Authority
from tracker.service.services import Services
from tracker.stores.builtin.servers import mongodb_uri
from tracker.stores.mongodb import drivers
from tracker.stores.startup import checks
from tracker.stores.startup.checks import check_mongodb, mongodb_diagnosed
from tracker.stores.startup.diagnosis import StoreUnavailable, UnusableStore


async def mongodb_says(uri: str) -> tuple[bool, str]:
    with (
        contextlib.closing(drivers.mongodb(uri)) as client,
        pytest.raises((UnusableStore, StoreUnavailable)) as raised,
    ):
        await check_mongodb(client)
    assert "\n" not in str(raised.value)
    return raised.type is UnusableStore, str(raised.value)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for a usable MongoDB for two seconds: the tests find none, and wait to the end."""
    monkeypatch.setattr(checks, "CHECK_SECONDS", 2.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("options", ["", "?replicaSet=rs0", "?directConnection=true"])
async def test_a_standalone_mongod_is_refused_with_the_remedy(
    standalone: str, options: str
) -> None:
    ends, line = await mongodb_says(f"mongodb://127.0.0.1:{port_of(standalone)}/{options}")
    assert ends
    if "replicaSet" in options:
        assert line.startswith("MONGODB_URI: replicaSet does not name the replica set")
    else:
        assert line.startswith("MONGODB_URI names a standalone mongod")
        assert "--replSet rs0" in line
        assert "rs.initiate()" in line


@pytest.fixture
def uninitiated(tmp_path: Path) -> Iterator[int]:
    with uninitiated_mongodb(tmp_path) as port:
        yield port


async def test_a_replica_set_that_was_never_initiated_is_waited_for_and_then_used(
    uninitiated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in ("", "?replicaSet=rs0", "?directConnection=true"):
        with monkeypatch.context() as impatient:
            impatient.setattr(checks, "CHECK_SECONDS", 2.0)
            ends, line = await mongodb_says(f"mongodb://127.0.0.1:{uninitiated}/{options}")
        assert not ends
        assert "never initiated: run once: mongosh --eval 'rs.initiate()'" in line
    with MongoClient[dict[str, Any]](mongodb_uri(uninitiated)) as client:
        members = [{"_id": 0, "host": f"127.0.0.1:{uninitiated}"}]
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": members})
    uri = f"mongodb://127.0.0.1:{uninitiated}/?replicaSet=rs0"
    with contextlib.closing(drivers.mongodb(uri)) as used:
        await used.admin.command("ping")
        await check_mongodb(used)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("options", ["", "&directConnection=true"])
async def test_a_wrong_name_of_the_replica_set_is_named(settings: Settings, options: str) -> None:
    address = settings.mongodb_uri.partition("?")[0]
    ends, line = await mongodb_says(f"{address}?replicaSet=other{options}")
    assert ends
    assert line.startswith("MONGODB_URI: replicaSet does not name the replica set")
    assert "other" in line


@pytest.mark.usefixtures("impatient")
async def test_an_unavailable_mongodb_does_not_end_the_start() -> None:
    address = f"127.0.0.1:{free_port()}"
    for server, said in (
        (NO_HOST, NO_HOST),
        (address, f"{address}: [Errno 111] Connection refused"),
    ):
        ends, line = await mongodb_says(f"mongodb://joe:geheim@{server}/?replicaSet=rs0")
        assert (ends, "geheim" in line) == (False, False)
        assert line.startswith("MONGODB_URI: MongoDB cannot be used: ")
        assert said in line
        assert "Topology" not in line


@pytest.mark.usefixtures("impatient")
async def test_a_name_of_servers_that_does_not_exist_does_not_end_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with in_a_thread() as server:
        # PyMongo asks the name servers of the system.
        resolver = dns.resolver.Resolver(configure=False)
        address, port = server.address.split(":")
        resolver.nameservers, resolver.port = [address], int(port)
        monkeypatch.setattr("dns.resolver.default_resolver", resolver)
        ends, line = await mongodb_says(f"mongodb+srv://db.{NO_HOST}/")
        assert (f"_mongodb._tcp.db.{NO_HOST}", "SRV") in server.asked
    assert not ends
    assert f"_mongodb._tcp.db.{NO_HOST}" in line


async def test_faults_of_a_mongod_with_passwords_and_tls_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    with guarded_mongodb(tmp_path, authority) as uri:
        address, query = urlsplit(uri).netloc.rpartition("@")[2], urlsplit(uri).query
        joes = f"mongodb://tracker:geheim@{address}/"
        for given, is_permanent, said in (
            (f"{joes}?{query}", True, "refuses the user or the password"),
            (joes, False, "connection closed"),
            (f"{joes}?tls=true", False, "certificate verify failed"),
        ):
            ends, line = await mongodb_says(given)
            assert (ends, "geheim" in line) == (is_permanent, False)
            assert line.startswith("MONGODB_URI: ")
            assert said in line
            # Only the first is answered; the others look for a usable server to the end.
            monkeypatch.setattr(checks, "CHECK_SECONDS", 2.0)
        nobodys = f"mongodb://{address}/?{query}"
        with (
            contextlib.closing(drivers.mongodb(nobodys)) as client,
            pytest.raises(UnusableStore, match="asks for a user"),
        ):
            async with mongodb_diagnosed():
                await client["tracker"]["links"].find_one({})


async def test_a_mongodb_that_stops_during_the_preparation_does_not_end_the_start(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 1.0)
    async with relay(services.settings.mongodb_uri) as way:
        uri = f"mongodb://127.0.0.1:{way.port}/?directConnection=true"
        settings = msgspec.structs.replace(services.settings, mongodb_uri=uri)
        async with scene.process(settings) as far:
            way.cut_at(b"update\x00\x09\x00\x00\x00counters\x00", arrives=False)
            with pytest.raises(StoreUnavailable):
                await far.prepare()
            assert way.was_cut.is_set()


@pytest.mark.parametrize(
    ("index", "rows", "said"),
    [
        ("by_name", [], "by_name"),
        (None, [{"account_id": 1, "key": "vip"}] * 2, r"MongoDB cannot make an index: .*vip"),
    ],
    ids=["another index in its place", "duplicates"],
)
async def test_what_hinders_a_unique_index_is_named(
    services: Services, index: str | None, rows: list[dict[str, Any]], said: str
) -> None:
    tags = services.stores.mongodb["tags"]
    await tags.drop_index("by_name")
    if index:
        await tags.create_index([("account_id", 1), ("key", 1)], name=index)
    for row in rows:
        await tags.insert_one({**row})
    try:
        with pytest.raises(UnusableStore, match=said):
            await services.prepare()
    finally:
        await tags.delete_many({})
        if index:
            await tags.drop_index(index)
        await services.prepare()
