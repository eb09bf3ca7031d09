"""The life of a service process: prepare, listen, announce, wait for a signal, leave cleanly."""

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec
import structlog
from redis.exceptions import RedisError
from tornado.netutil import bind_sockets

from config.settings import Settings
from tracker.db.connect import StoreUnavailable, UnusableStore, redis_advice
from tracker.db.tasks import ended
from tracker.ingest.consumer import Consumer
from tracker.ingest.fleet import Fleet
from tracker.ingest.overdue import tell_in_time
from tracker.ingest.slot import Slot, kept_slot
from tracker.loops import Loops
from tracker.service.app import make_internal_app, make_monitoring_app
from tracker.service.front import answering, answering_operators
from tracker.service.services import Services

log = structlog.get_logger(__name__)

PREPARE_EVERY = 0.5

PREPARE_SECONDS = 5.0
"""How long a start waits for MongoDB's indexes; those of a large collection take minutes."""

_TRIES = 5
"""Errors in a row after which a loop of the drain is given up, and with it the process: another may
do better, and a process that went on without would hide it."""

_COLLECT_EVERY = 10_000
"""Of a process that only drains: so many more objects before the collector looks at the new ones. A
batch makes as many in a moment, hardly any in a cycle: as often as usual it was a seventh of the
process's work."""

Announce = Callable[[Services], Awaitable[None]]


def bind(settings: Settings) -> list[socket.socket]:
    """The listening sockets. Raises OSError if the port is taken."""
    return bind_sockets(settings.port, settings.listen_address)


def bind_operators(settings: Settings, port: int) -> list[socket.socket]:
    """Return the listening sockets of a port for operators, none if it is 0. Raises OSError if it
    is taken."""
    return bind_sockets(port, settings.listen_address) if port else []


def with_base_url(settings: Settings, sockets: list[socket.socket]) -> Settings:
    """`settings` with the port that was bound, and the base URL that follows from it."""
    port = sockets[0].getsockname()[1]
    scheme = "https" if settings.tls_cert else "http"
    base_url = settings.base_url or f"{scheme}://localhost:{port}"
    return msgspec.structs.replace(settings, port=port, base_url=base_url.rstrip("/"))


async def serve(
    settings: Settings,
    sockets: list[socket.socket],
    announce: Announce,
    draining: bool,
    internal: Sequence[socket.socket] = (),
) -> None:
    """Serve until SIGTERM or SIGINT, draining as well or not. `announce` is called when requests
    are answered. `internal` are the sockets of INTERNAL_PORT, if it is set. Raises UnusableStore if
    a store never serves us with these settings, and LoopFailed if the drain was given up.
    """
    async with _services(settings) as (services, stop):
        ingest = _draining(services) if draining else _preparing(services)
        operators = answering_operators(make_internal_app(services), internal)
        async with operators, ingest, answering(services, sockets):
            await announce(services)
            _leave_out_what_stays()
            await _stopped(stop, services.loops)


async def drain(settings: Settings, monitoring: Sequence[socket.socket] = ()) -> None:
    """Only drain, until SIGTERM or SIGINT. `monitoring` are the sockets of METRICS_PORT, if it is
    set. Raises UnusableStore and LoopFailed as `serve` does."""
    async with (
        _services(settings, serves=False) as (services, stop),
        answering_operators(make_monitoring_app(services), monitoring),
        _draining(services),
    ):
        print("tracker drains the journal into MongoDB   (Ctrl-C stops it)", flush=True)
        _leave_out_what_stays()
        gc.set_threshold(_COLLECT_EVERY)
        await _stopped(stop, services.loops)


async def _stopped(stop: asyncio.Event, loops: Loops) -> None:
    """Return at a signal to stop. Raises LoopFailed if a loop was given up."""
    loops.when_given_up(stop.set)
    await stop.wait()
    log.info("stopping")
    loops.check()


def _leave_out_what_stays() -> None:
    """The collector need not look at what is there now again and again."""
    gc.collect()
    gc.freeze()


@contextlib.asynccontextmanager
async def _services(
    settings: Settings, serves: bool = True
) -> AsyncIterator[tuple[Services, asyncio.Event]]:
    """The services, and what is set by a signal to stop."""
    stop = _stop_signal()
    services = Services(settings)
    services.serves = serves
    measuring = services.loops.start("memory", services.budget_meter.keep_measuring)
    try:
        await _prepare(services)
        yield services, stop
    finally:
        await ended(measuring)
        await services.close()
    log.info("stopped")


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def _prepare(services: Services) -> None:
    """Raises UnusableStore. Neither a store that may come back nor an index that takes long hinders
    the start."""
    try:
        await services.check_mongodb()
        async with asyncio.timeout(PREPARE_SECONDS):
            await services.prepare()
    except TimeoutError:
        log.warning("MongoDB is making indexes; meanwhile the journal keeps what comes")
    except StoreUnavailable as error:
        log.warning(
            "MongoDB is unavailable; links known to Redis redirect, the journal keeps what comes",
            reason=str(error),
        )
    try:
        await services.check_redis()
        for advice in await redis_advice(services.redis):
            log.warning("Redis is not safe for clicks", advice=advice)
    except (StoreUnavailable, RedisError) as error:
        log.warning("Redis is unavailable; clicks go to the spool", reason=str(error)[:300])


async def _keep_preparing(services: Services) -> None:
    """Returns once MongoDB can be written to. A reason is logged once until there is another."""
    logged = ""
    while not services.prepared.is_set():
        await asyncio.sleep(PREPARE_EVERY)
        try:
            await services.prepare()
        except (StoreUnavailable, UnusableStore) as error:
            if str(error) != logged:
                log.warning("MongoDB cannot be used yet", reason=str(error))
            logged = str(error)


@contextlib.asynccontextmanager
async def _preparing(services: Services) -> AsyncIterator[None]:
    """Prepare MongoDB as soon as it can be, if it is not yet."""
    preparing = services.loops.start(
        "prepare", lambda: _keep_preparing(services), services.prepared
    )
    try:
        yield
    finally:
        preparing.cancel()
        await asyncio.wait([preparing])


@contextlib.asynccontextmanager
async def _draining(services: Services) -> AsyncIterator[None]:
    """Drain in this process, and send to webhooks; on leaving, the batch under way is finished."""
    kept = kept_slot(services.redis, services.mongodb, loops=services.loops)
    async with kept as slot, _preparing(services), _draining_into(services, slot):
        yield


@contextlib.asynccontextmanager
async def _draining_into(services: Services, slot: Slot) -> AsyncIterator[None]:
    drain = services.drain(slot)
    consumer = Consumer(services.redis, services.redis_waiting, drain.apply)
    fleet = Fleet(services.redis)
    sender = services.sender()
    stop = asyncio.Event()
    loops = {
        "drain": lambda: consumer.run(stop),
        "overdue": lambda: tell_in_time(drain.tell_overdue, stop),
        "webhooks": lambda: sender.run(stop),
        "fleet": lambda: fleet.run(stop),
    }
    running = [_start_prepared(services, name, run, stop) for name, run in loops.items()]
    try:
        yield
    finally:
        stop.set()
        if not services.prepared.is_set():
            for one in running:
                one.cancel()
        await asyncio.wait(running)
        await fleet.leave()
        await consumer.leave()


def _start_prepared(
    services: Services, name: str, run: Callable[[], Awaitable[None]], stop: asyncio.Event
) -> asyncio.Task[None]:
    """Start a loop that begins when MongoDB can be written to."""

    async def prepared() -> None:
        await services.prepared.wait()
        await run()

    return services.loops.start(name, prepared, stop, _TRIES)
