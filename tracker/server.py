"""The life of a service process: prepare, listen, announce, wait for a signal, leave cleanly."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import structlog
from redis.exceptions import RedisError
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from config.settings import Settings
from tracker.app import make_app
from tracker.db import indexes, retention
from tracker.db.connect import PyMongoError, UnusableStore, check_mongodb, redis_advice
from tracker.ingest.consumer import BATCH, LARGE_BATCH, Consumer
from tracker.ingest.drain import Drain
from tracker.ingest.overdue import tell_in_time
from tracker.ingest.slot import Slot
from tracker.services import Services

log = structlog.get_logger(__name__)

IN_FLIGHT_SECONDS = 8.0
"""How long a stop waits for requests that are being answered."""

QUIET_SECONDS = 0.3
"""How long no request may have come before a stop closes the connections that are kept open: what
a client had sent by then is answered, and told that the connection ends."""

BODY_SECONDS = 30.0
IDLE_SECONDS = 75.0
PREPARE_EVERY = 0.5

MAX_BODY = 8 * 1024 * 1024
"""Larger bodies are refused while they arrive; the endpoints' own limit is stricter."""

Announce = Callable[[Services], Awaitable[None]]


def bind(settings: Settings) -> list[socket.socket]:
    """The listening sockets. Raises OSError if the port is taken."""
    return bind_sockets(settings.port, settings.listen_address)


def with_base_url(settings: Settings, sockets: list[socket.socket]) -> Settings:
    """`settings` with the port that was bound, and the base URL that follows from it."""
    port = sockets[0].getsockname()[1]
    base_url = settings.base_url or f"http://localhost:{port}"
    return msgspec.structs.replace(settings, port=port, base_url=base_url.rstrip("/"))


async def serve(
    settings: Settings, sockets: list[socket.socket], announce: Announce, draining: bool
) -> None:
    """Serve until SIGTERM or SIGINT, draining as well or not. `announce` is called when requests
    are answered. Raises UnusableStore if MongoDB is not a replica set.
    """
    async with _services(settings) as (services, stop):
        ingest = _draining(services, BATCH) if draining else _preparing(services)
        async with ingest, _answering(services, sockets):
            await announce(services)
            await stop.wait()
            log.info("stopping")


async def drain(settings: Settings) -> None:
    """Only drain, until SIGTERM or SIGINT. Raises UnusableStore as `serve` does."""
    async with _services(settings) as (services, stop), _draining(services, LARGE_BATCH):
        print("tracker drains the journal into MongoDB   (Ctrl-C stops it)", flush=True)
        await stop.wait()
        log.info("stopping")


@contextlib.asynccontextmanager
async def _services(settings: Settings) -> AsyncIterator[tuple[Services, asyncio.Event]]:
    """The services, and what is set by a signal to stop."""
    stop = _stop_signal()
    services = Services(settings)
    try:
        await _prepare(services)
        yield services, stop
    finally:
        await services.close()
    log.info("stopped")


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def _prepare(services: Services) -> None:
    """Raises UnusableStore. A store that is away does not hinder the start."""
    try:
        await _prepare_mongodb(services)
    except PyMongoError as error:
        log.warning("MongoDB is away; links known to Redis redirect", error=str(error)[:200])
    try:
        for advice in await redis_advice(services.redis):
            log.warning("Redis is not safe for clicks", advice=advice)
    except RedisError as error:
        log.warning("Redis is away; clicks go to the spool", error=str(error)[:200])


async def _prepare_mongodb(services: Services) -> None:
    """Until it is done nothing is written: the unique indexes are what decides races."""
    await check_mongodb(services.mongodb)
    await indexes.ensure(services.database)
    await retention.keep_clicks(services.database, services.settings.click_retention_days)
    services.prepared.set()


async def _keep_preparing(services: Services) -> None:
    """Returns once MongoDB, which was away at the start, can be written to."""
    while not services.prepared.is_set():
        await asyncio.sleep(PREPARE_EVERY)
        try:
            await _prepare_mongodb(services)
        except (PyMongoError, UnusableStore) as error:
            log.warning("MongoDB cannot be used yet", error=str(error)[:200])


@contextlib.asynccontextmanager
async def _preparing(services: Services) -> AsyncIterator[None]:
    """Prepare MongoDB as soon as it can be, if it was away."""
    preparing = asyncio.get_running_loop().create_task(_keep_preparing(services))
    try:
        yield
    finally:
        preparing.cancel()
        await asyncio.wait([preparing])


@contextlib.asynccontextmanager
async def _draining(services: Services, batch: int) -> AsyncIterator[None]:
    """Drain in this process, and send to webhooks; on leaving, the batch under way is finished."""
    slot = Slot(services.redis, services.mongodb)
    drain = Drain(services, slot)
    consumer = Consumer(services.redis, services.redis_waiting, drain.apply, batch=batch)
    stop = asyncio.Event()

    async def run() -> None:
        await _keep_preparing(services)
        async with asyncio.TaskGroup() as together:
            together.create_task(consumer.run(stop))
            together.create_task(tell_in_time(drain.tell_overdue, stop))
            together.create_task(services.sender().run(stop))

    running = asyncio.get_running_loop().create_task(run())
    running.add_done_callback(_stop_without)
    try:
        yield
    finally:
        stop.set()
        if not services.prepared.is_set():
            running.cancel()
        await asyncio.wait([running])
        await consumer.leave()
        await slot.leave()


def _stop_without(drain: asyncio.Task[None]) -> None:
    """A drain never ends by an error; should one, a process that goes on without would hide it."""
    if not drain.cancelled() and drain.exception() is not None:
        log.error("drain ended", exc_info=drain.exception())
        signal.raise_signal(signal.SIGTERM)


@contextlib.asynccontextmanager
async def _answering(services: Services, sockets: list[socket.socket]) -> AsyncIterator[None]:
    """Answer requests; on leaving, accept no more, finish what is in flight, flush the journal."""
    await services.start()
    server = HTTPServer(
        make_app(services),
        max_body_size=MAX_BODY,
        idle_connection_timeout=IDLE_SECONDS,
        body_timeout=BODY_SECONDS,
    )
    server.add_sockets(sockets)
    try:
        yield
    finally:
        server.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IN_FLIGHT_SECONDS):
                await services.requests.ended(QUIET_SECONDS)
        await server.close_all_connections()
        await services.stop()
