"""The built-in stores: a real Redis and a real mongod, for development, trial and tests.

A store whose URL is not set (REDIS_URL, MONGODB_URI) runs as a child process. It listens on a Unix
socket, which only the user of the service may open. `run.py` enters `run_stores` around
`asyncio.run`; operators' scripts enter `attach_stores`.

Guarantee: at most one pair of stores runs on a folder, also after kill -9 of the service. No child
is left behind. Acknowledged writes are still there at the next start.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import structlog

from config.settings import Settings
from tracker.stores.builtin.binaries import StoresError
from tracker.stores.builtin.child import Child, stop
from tracker.stores.builtin.data_folder import Addresses, DataFolder, DataInUse
from tracker.stores.builtin.servers import (
    TRIAL_MEMORY,
    MongodMemory,
    mongod_program,
    mongodb_uri,
    redis_program,
    redis_url,
)

log = structlog.get_logger(__name__)

ORPHAN_TIMEOUT_SECONDS = 20.0
"""How long a start waits for the stores of a killed service to end."""

ATTACH_TIMEOUT_SECONDS = 30.0
"""How long a script waits for a service that is still starting its stores."""


class StartedStores:
    """The stores that a process has started, which nothing restarts."""

    def __init__(self) -> None:
        self._children: Sequence[Child] = ()
        self._owner = 0

    @property
    def any(self) -> bool:
        """Return whether there are some, and this is the process that started them."""
        return bool(self._children) and os.getpid() == self._owner

    def record(self, children: Sequence[Child]) -> None:
        self._children, self._owner = children, os.getpid()

    def log_ended(self) -> bool:
        """Return whether one has ended, and log how."""
        ended = [how for child in self._children if (how := child.ended())] if self.any else []
        for how in ended:
            log.error("a built-in store ended; stopping", store=how)
        return bool(ended)


@contextmanager
def run_stores(
    settings: Settings,
    started: StartedStores | None = None,
    memory: MongodMemory = TRIAL_MEMORY,
) -> Iterator[Settings]:
    """Run the stores that `settings` does not name; yield the settings with both addresses.

    Call this from the main thread, with which the stores end. Raises DataInUse if a service runs on
    the folder, StoresError if the stores cannot run.
    """
    _refuse_in_production(settings)
    if not _missing_addresses(settings):
        yield settings
        return
    folder = DataFolder(settings.data_path)
    _lock(folder)
    with _running(settings, folder, started, memory) as complete:
        yield complete


@contextmanager
def attach_stores(
    settings: Settings,
    notify: Callable[[str], object] = lambda line: None,
    started: StartedStores | None = None,
) -> Iterator[Settings]:
    """Use the stores of the service on the data folder, or run some if there is none.

    `notify` gets a line if stores are started: an operator may have forgotten to name servers.
    Raises DataInUse if no service becomes ready on a locked folder, StoresError if stores fail.
    """
    _refuse_in_production(settings)
    if not _missing_addresses(settings):
        yield settings
        return
    folder = DataFolder(settings.data_path)
    addresses = _lock_or_attach(folder)
    if addresses:
        yield _attached(settings, addresses)
        return
    notify(_start_message(settings))
    with _running(settings, folder, started) as complete:
        yield complete


def in_use_message(folder: Path, pid: int) -> str:
    return (
        f"already running on {folder}, with pid {pid}: stop that one first (kill {pid}), or run "
        "this one beside it with another DATA_DIR and PORT"
    )


def _start_message(settings: Settings) -> str:
    missing = " and no ".join(_missing_addresses(settings))
    return (
        f"no {missing} is set, and no service runs on {settings.data_path}: "
        "starting built-in stores there until this ends"
    )


def service_pid(settings: Settings) -> int | None:
    """Return the pid of the service on the data folder; None too if no store is built in."""
    return DataFolder(settings.data_path).service_pid() if _missing_addresses(settings) else None


def _missing_addresses(settings: Settings) -> list[str]:
    redis = ["REDIS_URL"] if settings.builtin_redis else []
    return [*redis, "MONGODB_URI"] if settings.builtin_mongodb else redis


def _refuse_in_production(settings: Settings) -> None:
    missing = _missing_addresses(settings)
    if missing and settings.env == "production":
        raise StoresError(f"{missing[0]}: must be set when ENV=production")


def _lock(folder: DataFolder) -> None:
    deadline = time.monotonic() + ORPHAN_TIMEOUT_SECONDS
    while not folder.try_lock():
        pid = folder.service_pid()
        if pid is not None:
            raise DataInUse(in_use_message(folder.path, pid))
        if time.monotonic() > deadline:
            raise DataInUse(
                f"{folder.path} is in use by the stores of a service that has ended: they should "
                "end soon too; try again, or set another DATA_DIR"
            )
        time.sleep(0.05)


def _lock_or_attach(folder: DataFolder) -> Addresses | None:
    """Lock the folder and return None, or return the addresses of the service that holds it."""
    deadline = time.monotonic() + ATTACH_TIMEOUT_SECONDS
    while not folder.try_lock():
        addresses = folder.addresses()
        if addresses:
            return addresses
        if time.monotonic() > deadline:
            raise DataInUse(
                f"{folder.path} is in use, but its stores do not become ready: see "
                "the log of the service there, or set another DATA_DIR"
            )
        time.sleep(0.05)
    return None


def _with_addresses(settings: Settings, addresses: Addresses) -> Settings:
    return msgspec.structs.replace(
        settings,
        redis_url=settings.redis_url or addresses.redis_url,
        mongodb_uri=settings.mongodb_uri or addresses.mongodb_uri,
    )


def _attached(settings: Settings, addresses: Addresses) -> Settings:
    complete = _with_addresses(settings, addresses)
    if missing := _missing_addresses(complete):
        raise StoresError(f"{missing[0]}: must be set as for the service with pid {addresses.pid}")
    return complete


@contextmanager
def _running(
    settings: Settings,
    folder: DataFolder,
    started: StartedStores | None,
    memory: MongodMemory = TRIAL_MEMORY,
) -> Iterator[Settings]:
    """Run the stores on the locked folder, and release it in the end."""
    stack = ExitStack()
    owner = os.getpid()
    stack.callback(folder.release)
    try:
        addresses = _start(settings, folder, stack, started or StartedStores(), memory)
        stack.callback(folder.unpublish)
        folder.publish(addresses)
        yield _with_addresses(settings, addresses)
    finally:
        if os.getpid() == owner:  # a process forked from this one may come here too
            stack.close()


def _start(
    settings: Settings,
    folder: DataFolder,
    stack: ExitStack,
    started: StartedStores,
    memory: MongodMemory,
) -> Addresses:
    """Start both stores together. `stack` stops them, also if this fails halfway."""
    sockets = folder.sockets(stack)
    redis, mongod = sockets / "redis.sock", sockets / "mongodb.sock"
    programs = []
    if settings.builtin_redis:
        programs.append(redis_program(folder.path, redis))
    if settings.builtin_mongodb:
        programs.append(mongod_program(folder.path, memory, mongod))
    children = [Child(program, folder.descriptor) for program in programs]
    stack.callback(stop, children)
    for child in children:
        child.launch()
    for child in children:
        child.wait_until_ready()
    started.record(children)
    return Addresses(
        pid=os.getpid(),
        redis_url=redis_url(redis) if settings.builtin_redis else "",
        mongodb_uri=mongodb_uri(mongod) if settings.builtin_mongodb else "",
    )


__all__ = ["DataInUse", "StoresError", "attach_stores", "run_stores", "service_pid"]
