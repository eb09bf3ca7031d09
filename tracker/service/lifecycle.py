"""The life of a service process: prepare, listen, announce, wait for a signal, stop cleanly."""

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec
import structlog
from redis.exceptions import RedisError
from tornado.netutil import bind_sockets

from config.settings import Settings
from tracker.journal.spool_folder import check_no_old_files
from tracker.limits.open_files import raise_limit
from tracker.loops import Loops, wait
from tracker.service import background
from tracker.service.api.routes import INTERNAL_ENDPOINTS, MONITORING_ENDPOINTS
from tracker.service.app import operators_app
from tracker.service.http_servers import serve_operators, serve_requests
from tracker.service.services import Services
from tracker.stores.startup.checks import check_mongodb, check_redis
from tracker.stores.startup.diagnosis import StoreUnavailable
from tracker.stores.startup.redis_advice import redis_advice

log = structlog.get_logger(__name__)

PREPARE_TIMEOUT_SECONDS = 5.0
"""The wait of a start for MongoDB's indexes. A large collection's take minutes."""

_GC_OBJECTS_OF_REQUESTS = 10_000
"""For processes with visitors, who wait for half a millisecond then. A list of 25 links makes 700
objects, the default; garbage collection was a twentieth of its work."""

_GC_OBJECTS_OF_DRAINS = 200_000
"""For drains alone: a batch makes that many objects at once, with hardly any circles. By default
garbage collection was a seventh of its work. With 12,000 accounts a click takes the drain 62 µs
with 50,000 here, 57 with 200,000, and no less without garbage collection."""

Announce = Callable[[Services], Awaitable[None]]
"""Called once the service answers requests."""


def bind(settings: Settings) -> list[socket.socket]:
    """Listen on the public port. Raises OSError if it is taken, UnicodeError for a bad address."""
    return bind_sockets(settings.port, settings.listen_address)


def bind_operators(settings: Settings, port: int) -> list[socket.socket]:
    """Listen on a port for operators, or on none if it is 0. Raises as `bind`."""
    return bind_sockets(port, settings.listen_address) if port else []


def with_base_url(settings: Settings, sockets: list[socket.socket]) -> Settings:
    """Set the bound port, and the base URL that follows from it."""
    bound = msgspec.structs.replace(settings, port=sockets[0].getsockname()[1])
    return msgspec.structs.replace(bound, base_url=bound.public_url)


async def serve(
    settings: Settings,
    sockets: list[socket.socket],
    announce: Announce,
    draining: bool,
    internal: Sequence[socket.socket] = (),
) -> None:
    """Serve until SIGTERM or SIGINT; also drain if `draining`.

    Raises UnusableStore if MongoDB or Redis can never work with these settings, LoopFailed if the
    drain was given up, UnusableCertificate if TLS is set and its files cannot be used.
    """
    async with _running_services(settings) as (services, stop):
        ingest = background.draining if draining else background.preparing
        operators = serve_operators(operators_app(services, INTERNAL_ENDPOINTS), internal)
        async with operators, ingest(services):
            # Takes 60 ms: before the first visitor, who would wait for it.
            _collect_seldom(_GC_OBJECTS_OF_REQUESTS)
            async with serve_requests(services, sockets):
                await announce(services)
                await _wait_for_stop(stop.first, services.loops)
                await _serve_until_balancers_know(services, stop.second)


async def drain(settings: Settings, monitoring: Sequence[socket.socket] = ()) -> None:
    """Drain until SIGTERM or SIGINT, without serving visitors. Raises as `serve`."""
    async with (
        _running_services(settings, serves=False) as (services, stop),
        serve_operators(operators_app(services, MONITORING_ENDPOINTS), monitoring),
        background.draining(services),
    ):
        print("tracker drains the journal into MongoDB   (Ctrl-C stops it)", flush=True)
        _collect_seldom(_GC_OBJECTS_OF_DRAINS)
        await _wait_for_stop(stop.first, services.loops)


async def _wait_for_stop(stop: asyncio.Event, loops: Loops) -> None:
    """Wait for a signal to stop. Raises LoopFailed if a loop was given up."""
    loops.on_give_up(stop.set)
    await stop.wait()
    log.info("stopping")
    loops.check()


async def _serve_until_balancers_know(services: Services, stop: asyncio.Event) -> None:
    """Serve for STOP_DELAY_SECONDS more, but say that the process is not ready."""
    seconds = services.settings.stop_delay_seconds
    if seconds:
        services.is_stopping = True
        log.info("serving until balancers know", seconds=seconds)
        await wait(stop, seconds)


def _collect_seldom(objects: int) -> None:
    """Collect garbage after so many new objects, without the lasting ones of the start."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(objects)


@contextlib.asynccontextmanager
async def _running_services(
    settings: Settings, serves: bool = True
) -> AsyncIterator[tuple[Services, "_StopSignals"]]:
    """Yield the services and the signals to stop; close the services on exit."""
    stop = _stop_signals()
    raise_limit()
    services = Services(settings)
    services.serves = serves
    try:
        async with background.running(background.PROCESS, services, services.loops):
            await _prepare(services)
            yield services, stop
    finally:
        await services.close()
    log.info("stopped")


class _StopSignals(NamedTuple):
    """The events that the first and the second signal to stop set."""

    first: asyncio.Event
    second: asyncio.Event

    def receive(self) -> None:
        (self.second if self.first.is_set() else self.first).set()


def _stop_signals() -> _StopSignals:
    stop = _StopSignals(asyncio.Event(), asyncio.Event())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.receive)
    return stop


async def _prepare(services: Services) -> None:
    """Prepare the stores, or start without them. Raises UnusableStore if one can never work."""
    if services.serves:
        check_no_old_files(services.settings.data_path / "spool")
    try:
        await check_mongodb(services.stores.mongodb.client)
        async with asyncio.timeout(PREPARE_TIMEOUT_SECONDS):
            await services.prepare()
    except TimeoutError:
        log.warning("MongoDB is building indexes; clicks and events wait in the journal")
    except StoreUnavailable as error:
        log.warning(
            "MongoDB is unavailable; links in Redis redirect, new records wait in the journal",
            reason=str(error),
        )
    try:
        await check_redis(services.stores.redis)
        replicas = services.settings.journal_replicas
        for advice in await redis_advice(services.stores.redis, replicas):
            log.warning("Redis is not safe for clicks", advice=advice)
    except (StoreUnavailable, RedisError) as error:
        log.warning("Redis is unavailable; clicks go to the spool", reason=str(error)[:300])
