"""The built-in stores: a real Redis and a real mongod of our own, for development, trial and tests.

A store whose URL is not set (REDIS_URL, MONGODB_URI) runs as a child process on loopback, with its
data under DATA_DIR. `run.py` and the tests enter `run_stores` around `asyncio.run`; operators'
scripts enter `attach_stores`.

Guarantee: at most one pair of stores runs on a folder, also after kill -9 of the service; no child
is left behind; what was acknowledged is still there at the next start.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from config.settings import Settings
from tracker.builtin.binaries import StoresError
from tracker.builtin.child import Child, stop
from tracker.builtin.data_folder import Addresses, DataFolder, DataInUse
from tracker.builtin.keeper import Keeper
from tracker.builtin.servers import mongod_program, mongodb_uri, redis_program, redis_url

OUTLIVE_SECONDS = 20.0
"""How long a start waits for the stores of a killed service to end."""

STARTING_SECONDS = 30.0
"""How long a script waits for a service that is still starting its stores."""


@contextmanager
def run_stores(settings: Settings, keeper: Keeper | None = None) -> Iterator[Settings]:
    """Run the stores that `settings` does not name; yield the settings with both addresses.

    `keeper` is given the stores that were started. Call it from the main thread: the stores end
    with the thread that started them.
    Raises DataInUse if a service runs on the folder, StoresError if the stores cannot run.
    """
    _refuse_in_production(settings)
    if not _needs_stores(settings):
        yield settings
        return
    folder = DataFolder(settings.data_path)
    _take(folder)
    with _running(settings, folder, keeper) as complete:
        yield complete


@contextmanager
def attach_stores(
    settings: Settings,
    notify: Callable[[str], object] = lambda line: None,
    keeper: Keeper | None = None,
) -> Iterator[Settings]:
    """Use the stores of the service that runs on the data folder, or run some if there is none.

    Yields the settings with both addresses. `notify` gets a line if stores are started: an operator
    who forgot to name the stores should know that these are new ones. Stores of a service are left
    running, and end with it.
    Raises DataInUse if the folder is held and no service becomes ready there, StoresError if the
    stores cannot run or the service uses stores of another kind.
    """
    _refuse_in_production(settings)
    if not _needs_stores(settings):
        yield settings
        return
    folder = DataFolder(settings.data_path)
    addresses = _take_or_join(folder)
    if addresses:
        yield _joined(settings, addresses)
        return
    notify(_starting(settings))
    with _running(settings, folder, keeper) as complete:
        yield complete


def in_use(folder: Path, pid: int) -> str:
    """Return the error for starting a second service on the folder."""
    return (
        f"already running on {folder}, with pid {pid}: stop that one first (kill {pid}), or run "
        "this one beside it with another DATA_DIR and PORT"
    )


def _starting(settings: Settings) -> str:
    missing = [
        name
        for name, builtin in (
            ("REDIS_URL", settings.builtin_redis),
            ("MONGODB_URI", settings.builtin_mongodb),
        )
        if builtin
    ]
    return (
        f"no {' and no '.join(missing)} is set, and no service runs on {settings.data_path}: "
        "starting built-in stores there until this ends"
    )


def service_on(settings: Settings) -> int | None:
    """Return the pid of the service that runs on the data folder, None if there is none.

    Also None if `settings` names both stores: then the folder is nobody's.
    """
    return DataFolder(settings.data_path).service() if _needs_stores(settings) else None


def _needs_stores(settings: Settings) -> bool:
    return settings.builtin_redis or settings.builtin_mongodb


def _refuse_in_production(settings: Settings) -> None:
    for name, builtin in (
        ("REDIS_URL", settings.builtin_redis),
        ("MONGODB_URI", settings.builtin_mongodb),
    ):
        if builtin and settings.env == "production":
            raise StoresError(f"{name}: must be set when ENV=production")


def _take(folder: DataFolder) -> None:
    deadline = time.monotonic() + OUTLIVE_SECONDS
    while not folder.try_take():
        pid = folder.service()
        if pid is not None:
            raise DataInUse(in_use(folder.path, pid))
        if time.monotonic() > deadline:
            raise DataInUse(
                f"{folder.path} is in use by the stores of a service that has ended: they should "
                "end soon too; try again, or set another DATA_DIR"
            )
        time.sleep(0.05)


def _take_or_join(folder: DataFolder) -> Addresses | None:
    """Take the folder and return None, or return the addresses of the service that holds it."""
    deadline = time.monotonic() + STARTING_SECONDS
    while not folder.try_take():
        addresses = folder.addresses()
        if addresses:
            return addresses
        if time.monotonic() > deadline:
            raise DataInUse(
                f"{folder.path} is in use, but its stores do not become ready: see "
                "what the service there says, or set another DATA_DIR"
            )
        time.sleep(0.05)
    return None


def _completed(settings: Settings, addresses: Addresses) -> Settings:
    return msgspec.structs.replace(
        settings,
        redis_url=settings.redis_url or addresses.redis_url,
        mongodb_uri=settings.mongodb_uri or addresses.mongodb_uri,
    )


def _joined(settings: Settings, addresses: Addresses) -> Settings:
    complete = _completed(settings, addresses)
    for name, missing in (
        ("REDIS_URL", complete.builtin_redis),
        ("MONGODB_URI", complete.builtin_mongodb),
    ):
        if missing:
            raise StoresError(f"{name}: must be set as for the service with pid {addresses.pid}")
    return complete


@contextmanager
def _running(settings: Settings, folder: DataFolder, keeper: Keeper | None) -> Iterator[Settings]:
    """Run the stores on a folder that this process has taken, and release it in the end."""
    stack = ExitStack()
    owner = os.getpid()
    stack.callback(folder.release)
    try:
        addresses = _start(settings, folder, stack, keeper or Keeper())
        stack.callback(folder.withdraw)
        folder.publish(addresses)
        yield _completed(settings, addresses)
    finally:
        if os.getpid() == owner:  # a process forked from this one may get here too
            stack.close()


def _start(settings: Settings, folder: DataFolder, stack: ExitStack, keeper: Keeper) -> Addresses:
    """Start both at the same time; `stack` will stop them, also if this fails halfway."""
    redis = Child(redis_program(folder.path), folder.descriptor) if settings.builtin_redis else None
    mongod = (
        Child(mongod_program(folder.path), folder.descriptor) if settings.builtin_mongodb else None
    )
    children = [child for child in (redis, mongod) if child]
    stack.callback(stop, children)
    for child in children:
        child.launch()
    for child in children:
        child.wait_until_ready()
    keeper.watch(children)
    return Addresses(
        pid=os.getpid(),
        redis_url=redis_url(redis.port) if redis else "",
        mongodb_uri=mongodb_uri(mongod.port) if mongod else "",
    )


__all__ = ["DataInUse", "StoresError", "attach_stores", "run_stores", "service_on"]
