"""The life of a service process: prepare, listen, announce, wait for a signal, leave cleanly."""

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import structlog
from redis.exceptions import RedisError
from tornado.netutil import bind_sockets

from config.settings import Settings
from tracker.db.connect import PyMongoError, UnusableStore, redis_advice
from tracker.front import answering
from tracker.ingest.consumer import Consumer
from tracker.ingest.drain import Drain
from tracker.ingest.overdue import tell_in_time
from tracker.ingest.slot import Slot
from tracker.services import Services

log = structlog.get_logger(__name__)

PREPARE_EVERY = 0.5

PREPARE_SECONDS = 5.0
"""How long a start waits for MongoDB's indexes; those of a large collection take minutes."""

_COLLECT_EVERY = 10_000
"""Of a process that only drains: so many more objects before the collector looks at the new ones. A
batch makes as many in a moment, hardly any in a cycle: as often as usual it was a seventh of the
process's work."""

Announce = Callable[[Services], Awaitable[None]]


def bind(settings: Settings) -> list[socket.socket]:
    """The listening sockets. Raises OSError if the port is taken."""
    return bind_sockets(settings.port, settings.listen_address)


def with_base_url(settings: Settings, sockets: list[socket.socket]) -> Settings:
    """`settings` with the port that was bound, and the base URL that follows from it."""
    port = sockets[0].getsockname()[1]
    scheme = "https" if settings.tls_cert else "http"
    base_url = settings.base_url or f"{scheme}://localhost:{port}"
    return msgspec.structs.replace(settings, port=port, base_url=base_url.rstrip("/"))


async def serve(
    settings: Settings, sockets: list[socket.socket], announce: Announce, draining: bool
) -> None:
    """Serve until SIGTERM or SIGINT, draining as well or not. `announce` is called when requests
    are answered. Raises UnusableStore if MongoDB is not a replica set.
    """
    async with _services(settings) as (services, stop):
        ingest = _draining(services) if draining else _preparing(services)
        async with ingest, answering(services, sockets):
            await announce(services)
            _leave_out_what_stays()
            await stop.wait()
            log.info("stopping")


async def drain(settings: Settings) -> None:
    """Only drain, until SIGTERM or SIGINT. Raises UnusableStore as `serve` does."""
    async with _services(settings) as (services, stop), _draining(services):
        print("tracker drains the journal into MongoDB   (Ctrl-C stops it)", flush=True)
        _leave_out_what_stays()
        gc.set_threshold(_COLLECT_EVERY)
        await stop.wait()
        log.info("stopping")


def _leave_out_what_stays() -> None:
    """The collector need not look at what is there now again and again."""
    gc.collect()
    gc.freeze()


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
    """Raises UnusableStore. Neither a store that is away nor an index that takes long hinders the
    start."""
    try:
        async with asyncio.timeout(PREPARE_SECONDS):
            await services.prepare()
    except TimeoutError:
        log.warning("MongoDB is making indexes; meanwhile the journal keeps what comes")
    except PyMongoError as error:
        log.warning("MongoDB is away; links known to Redis redirect", error=str(error)[:200])
    try:
        for advice in await redis_advice(services.redis):
            log.warning("Redis is not safe for clicks", advice=advice)
    except RedisError as error:
        log.warning("Redis is away; clicks go to the spool", error=str(error)[:200])


async def _keep_preparing(services: Services) -> None:
    """Returns once MongoDB can be written to."""
    while not services.prepared.is_set():
        await asyncio.sleep(PREPARE_EVERY)
        try:
            await services.prepare()
        except (PyMongoError, UnusableStore) as error:
            log.warning("MongoDB cannot be used yet", error=str(error)[:200])


@contextlib.asynccontextmanager
async def _preparing(services: Services) -> AsyncIterator[None]:
    """Prepare MongoDB as soon as it can be, if it is not yet."""
    preparing = asyncio.get_running_loop().create_task(_keep_preparing(services))
    try:
        yield
    finally:
        preparing.cancel()
        await asyncio.wait([preparing])


@contextlib.asynccontextmanager
async def _draining(services: Services) -> AsyncIterator[None]:
    """Drain in this process, and send to webhooks; on leaving, the batch under way is finished."""
    slot = Slot(services.redis, services.mongodb)
    drain = Drain(services, slot)
    consumer = Consumer(services.redis, services.redis_waiting, drain.apply)
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
