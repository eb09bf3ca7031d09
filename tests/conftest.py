"""Fixtures of all tests: real stores, started once, an event loop, an empty database each."""

import asyncio
import contextlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop
from hypothesis import HealthCheck
from hypothesis import settings as of_hypothesis
from pymongo import MongoClient
from pymongo.database import Database
from pymongo.write_concern import WriteConcern
from tornado.platform.asyncio import AsyncIOLoop

from config import logging
from config.settings import Settings
from tests.clock import Clock
from tests.dns import dns_server
from tests.dns.dns_server import DnsServer
from tests.patience import be_patient
from tests.rooms import replace_parts
from tests.stores import given
from tests.stores.mongodb.own_mongodb import standalone_mongodb
from tests.stores.redis.lowest_redis import LOWEST, lowest_redis
from tests.stores.redis.own_cluster import forget_everything, own_cluster
from tests.waiting import PROCESS_PATIENCE_SECONDS
from tracker.service.api import readiness
from tracker.service.services import Services
from tracker.stores.builtin import binaries
from tracker.stores.builtin.stores import run_stores
from tracker.stores.cache import memory
from tracker.stores.mongodb import drivers, indexes
from tracker.stores.redis import clients
from tracker.webhooks.sending.client import WebhookClient

# The guard is registered after what may make a run pass: the last to be registered is asked last.
pytest_plugins = ("tests.once_more", "tests.loopback_only", "tests.web.fixtures")

# No test depends on the speed of the machine. The first to draw texts also builds tables.
of_hypothesis.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
of_hypothesis.load_profile("suite")

_CLUSTER = "cluster"


def pytest_addoption(parser: pytest.Parser) -> None:
    about = (
        f"the Redis to test with: the path of a redis-server, `{LOWEST}` for 6.2, `{_CLUSTER}` for "
        "a cluster of three of the built-in one, or redis://... of an empty one [the built-in one]"
    )
    parser.addoption("--redis", help=about)
    about = "the empty MongoDB replica set to test with: mongodb://... [a mongod that is started]"
    parser.addoption("--mongodb", help=about)


def pytest_configure(config: pytest.Config) -> None:
    _refuse_missing_paths(config)
    given.refuse_several_processes(config)
    chosen: str | None = config.getoption("--redis")
    if not chosen or chosen == _CLUSTER or given.given_redis(config):
        return
    server = lowest_redis() if chosen == LOWEST else Path(chosen)
    if server is None:
        # REDIS_SERVER names one, or this system has no wheel with Redis 6.2: the tests have that,
        # or the built-in one.
        return
    variables = pytest.MonkeyPatch()
    variables.setenv(binaries.REDIS_SERVER, str(server))
    config.add_cleanup(variables.undo)


def _refuse_missing_paths(config: pytest.Config) -> None:
    """Name a path that does not exist: the processes of xdist would only say "no tests ran"."""
    folder = config.invocation_params.dir
    missing = [one for one in config.args if not (folder / one.partition("::")[0]).exists()]
    if missing:
        raise pytest.UsageError(f"no such file or folder: {', '.join(missing)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests that are coroutines on the loop of `io_loop`."""
    for item in items:
        if inspect.iscoroutinefunction(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.gen_test(timeout=PROCESS_PATIENCE_SECONDS))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name the seed of the order; a quiet run has no header that does."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:  # else the order is that of the files: -p no:randomly
        terminalreporter.write_line(f"order: --randomly-seed={seed}")


@pytest.fixture(scope="session")
def io_loop() -> Iterator[AsyncIOLoop]:
    asyncio_loop = uvloop.new_event_loop()
    # pytest-tornado makes a test's coroutine a task of the current loop.
    asyncio.set_event_loop(asyncio_loop)
    loop = AsyncIOLoop(asyncio_loop=asyncio_loop, make_current=False)
    yield loop
    # Not closed, because the process ends: uvloop waits in close() for all handles, and for ever if
    # one has begun while it closed the others.
    asyncio.set_event_loop(None)


@pytest.fixture(autouse=True)
def _errors_of_the_loop_are_logged(io_loop: AsyncIOLoop) -> Iterator[None]:
    """Fail a test that leaves its handler of errors on the loop, which all tests share."""
    yield
    left = io_loop.asyncio_loop.get_exception_handler()
    io_loop.asyncio_loop.set_exception_handler(None)
    assert left is None


@pytest.fixture(scope="session")
def stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """Yield the settings of a real Redis and a real MongoDB for the whole run."""
    folder = tmp_path_factory.mktemp("stores")
    settings = Settings(data_dir=str(folder), log_level="warning")
    logging.configure(settings)
    with contextlib.ExitStack() as stack:
        if request.config.getoption("--redis") == _CLUSTER:
            cluster = stack.enter_context(own_cluster(folder / "cluster"))
            settings = msgspec.structs.replace(settings, redis_url=cluster.url)
        if url := given.given_redis(request.config):
            stack.enter_context(given.borrowed_redis(url))
            settings = msgspec.structs.replace(settings, redis_url=url)
        if uri := given.given_mongodb(request.config):
            stack.enter_context(given.borrowed_mongodb(uri, settings.mongodb_database))
            settings = msgspec.structs.replace(settings, mongodb_uri=uri)
        yield stack.enter_context(run_stores(settings))


@pytest.fixture(scope="session")
def mongodb(stores: Settings) -> Iterator[MongoClient[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](
        stores.mongodb_uri, uuidRepresentation="standard", tz_aware=True
    ) as client:
        yield client


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[str]:
    """Yield the URI of a mongod that is not a member of a replica set."""
    with standalone_mongodb(tmp_path) as uri:
        yield uri


@pytest.fixture(scope="session")
def names(io_loop: AsyncIOLoop) -> Iterator[DnsServer]:
    """Yield a DNS server that knows only the hosts of the documented examples.

    Targets must be public, so the address is. Nothing connects to it: it would be refused.
    """
    context = dns_server.running()
    server: DnsServer = io_loop.run_sync(context.__aenter__)
    server.has("example.com", "A", "93.184.216.34")
    yield server
    io_loop.run_sync(lambda: context.__aexit__(None, None, None))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True, scope="session")
def _a_machine_that_stalls_is_no_outage() -> Iterator[None]:
    """Wait longer for a store than a service does, unless a test has another patience."""
    with pytest.MonkeyPatch.context() as patient:
        be_patient(patient.setattr)
        yield


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for stores hardly longer than a service does, in a test in which one hangs."""
    monkeypatch.setattr(clients, "REQUEST_TIMEOUT_SECONDS", 2.0)
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 2.0)
    monkeypatch.setattr(readiness, "PROBE_TIMEOUT_SECONDS", 2.0)


@pytest.fixture
def long_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let caches remember for an hour: only a notification shows them a change."""
    monkeypatch.setattr(memory, "MEMORY_SECONDS", 3600.0)
    monkeypatch.setattr(memory, "UNSETTLED_SECONDS", 3600.0)
    monkeypatch.setattr(memory, "MISS_MEMORY_SECONDS", 3600.0)


@pytest.fixture
def dns(io_loop: AsyncIOLoop) -> Iterator[DnsServer]:
    """Yield a DNS server for this test, which knows no host yet."""
    context = dns_server.running()
    yield io_loop.run_sync(context.__aenter__)
    io_loop.run_sync(lambda: context.__aexit__(None, None, None))


@pytest.fixture
def settings(
    stores: Settings, mongodb: MongoClient[dict[str, Any]], tmp_path: Path, names: DnsServer
) -> Settings:
    """Return settings of an empty Redis and an empty database.

    Indexes stay, and only collections with documents are emptied, because both would be slow.
    """
    forget_everything(stores.redis_url)
    database = mongodb[stores.mongodb_database]
    # The last delete waits for a majority, and so for all before it.
    names_to_empty = _with_documents(database)
    for name in names_to_empty[:-1]:
        database.get_collection(name, write_concern=WriteConcern(w=1)).delete_many({})
    for name in names_to_empty[-1:]:
        database[name].delete_many({})
    return msgspec.structs.replace(
        stores, base_url="http://tracker.test", data_dir=str(tmp_path), dns_resolver=names.address
    )


def _with_documents(database: Database[dict[str, Any]]) -> list[str]:
    """Return the names of the collections that have a document, with one query for all."""
    names = database.list_collection_names(filter={"name": {"$not": {"$regex": "^system\\."}}})
    if not names:
        return []
    pipeline: list[dict[str, Any]] = []
    for name in names:
        one: list[dict[str, Any]] = [{"$limit": 1}, {"$project": {"_id": {"$literal": name}}}]
        pipeline += [{"$unionWith": {"coll": name, "pipeline": one}}] if pipeline else one
    return [found["_id"] for found in database[names[0]].aggregate(pipeline)]


@pytest.fixture(scope="session")
def indexed(stores: Settings, io_loop: AsyncIOLoop) -> None:
    """Make every index of the database."""

    async def ensure() -> None:
        with contextlib.closing(drivers.mongodb(stores.mongodb_uri)) as client:
            await indexes.ensure(client[stores.mongodb_database])

    io_loop.run_sync(ensure)


@pytest.fixture
def services(settings: Settings, indexed: None, io_loop: AsyncIOLoop) -> Iterator[Services]:
    """Yield the objects of a process, with indexes but without running loops."""

    async def build() -> Services:
        built = Services(settings)
        built.prepared.set()
        return built

    built = io_loop.run_sync(build)
    yield built
    io_loop.run_sync(lambda: _close(built))


@pytest.fixture
def private_allowed(services: Services) -> Iterator[None]:
    """Allow webhooks to private networks during the test."""
    before = services.webhooks
    client = WebhookClient(True, services.settings.dns_address, services.links.served_hosts)
    replace_parts(services, "webhooks", allows_private=True, client=client)
    yield
    client.close()
    replace_parts(services, "webhooks", **before._asdict())


async def _close(services: Services) -> None:
    await services.stop()
    await services.close()
