"""A start with an unusable MongoDB prints one line: the variable and the remedy. All are real."""

import contextlib
import gc
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
from tests.db.own_mongodb import guarded_mongodb, uninitiated_mongodb
from tests.db.relay import relay
from tests.db.test_check import NO_HOST, port_of
from tests.dns.dns_server import in_a_thread
from tests.system.certificates import Authority
from tracker.builtin.child import free_port
from tracker.builtin.servers import mongodb_uri
from tracker.db import check, connect
from tracker.db.check import check_mongodb, mongodb_diagnosed
from tracker.db.connect import StoreUnavailable, UnusableStore
from tracker.service.services import Services


async def mongodb_says(uri: str) -> tuple[bool, str]:
    with (
        contextlib.closing(connect.mongodb(uri)) as client,
        pytest.raises((UnusableStore, StoreUnavailable)) as raised,
    ):
        await check_mongodb(client, uri)
    assert "\n" not in str(raised.value)
    return raised.type is UnusableStore, str(raised.value)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for a usable MongoDB for a second: the tests find none, and wait to the end."""
    monkeypatch.setattr(check, "CHECK_SECONDS", 1.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("options", ["", "?replicaSet=rs0", "?directConnection=true"])
async def test_a_standalone_mongod_is_refused_with_the_remedy(
    standalone: str, options: str
) -> None:
    ends, line = await mongodb_says(f"mongodb://127.0.0.1:{port_of(standalone)}/{options}")
    assert ends
    assert line.startswith("MONGODB_URI names a standalone mongod")
    assert "--replSet rs0" in line
    assert "rs.initiate()" in line


@pytest.mark.usefixtures("impatient")
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
    uninitiated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in ("", "?replicaSet=rs0", "?directConnection=true"):
        with monkeypatch.context() as impatient:
            impatient.setattr(check, "CHECK_SECONDS", 1.0)
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


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("options", ["", "&directConnection=true"])
async def test_a_wrong_name_of_the_replica_set_is_named(settings: Settings, options: str) -> None:
    port = port_of(settings.mongodb_uri)
    ends, line = await mongodb_says(f"mongodb://127.0.0.1:{port}/?replicaSet=other{options}")
    assert ends
    assert line == (
        "MONGODB_URI: its servers are of the replica set rs0: write replicaSet=rs0 instead of other"
    )


@pytest.mark.usefixtures("impatient")
async def test_an_unavailable_mongodb_does_not_end_the_start() -> None:
    assert await mongodb_says(f"mongodb://{NO_HOST}/?replicaSet=rs0") == (
        False,
        f"MONGODB_URI: no address is known for the host of {NO_HOST}:27017: "
        "correct the name if it is wrong",
    )
    port = free_port()
    assert await mongodb_says(f"mongodb://127.0.0.1:{port}/?replicaSet=rs0") == (
        False,
        f"MONGODB_URI: nothing listens at 127.0.0.1:{port}",
    )


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
    assert "mongodb+srv://" in line


# If PyMongo is cancelled between connecting and the handshake, it does not close the socket.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
async def test_faults_of_a_mongod_with_passwords_and_tls_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
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
            # Only the first is answered; the others look for a usable server to the end.
            monkeypatch.setattr(check, "CHECK_SECONDS", 1.0)
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


async def test_duplicates_that_prevent_a_unique_index_are_named_before_any_index_is_made(
    services: Services,
) -> None:
    links = services.database["links"]
    await links.drop_index("by_domain_and_slug")
    await services.database["tags"].drop_index("by_account")
    twins = [{"slug": f"same{number // 2}"} for number in range(10)]
    await links.insert_many([{"_id": number, **twin} for number, twin in enumerate(twins)])
    await links.insert_one({"_id": 10, "domain_id": None, "slug": "same0"})
    try:
        with pytest.raises(UnusableStore) as raised:
            await services.prepare()
        assert "by_account" not in await services.database["tags"].index_information()
    finally:
        await links.delete_many({})
        await services.prepare()
    line = str(raised.value)
    assert "documents in links with the same domain_id and slug, which the unique index" in line
    assert line.count(" and ") == 6
    assert ", and others. Nothing was changed." in line


async def test_documents_that_a_unique_index_leaves_out_may_be_alike(services: Services) -> None:
    events = services.database["events"]
    await events.drop_index("by_transaction")
    await events.insert_many([{"_id": 1, "transaction_scope": None}, {"_id": 2}])
    await services.prepare()
    assert "by_transaction" in await events.index_information()


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
