"""The built-in stores: a real Redis and a real mongod of our own, for development, trial and tests.

What REDIS_URL and MONGODB_URI leave out runs as child processes on loopback, with its data under
DATA_DIR. `run.py` and the tests enter `started` around `asyncio.run`; operators' scripts enter
`reached`. Guaranteed: at most one pair of stores on a folder, also after kill -9 of the service;
no child left behind; what was acknowledged is still there at the next start.
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
"""How long the stores of a killed service may take to end."""

STARTING_SECONDS = 30.0
"""How long a script waits for a service that is still starting its stores."""


@contextmanager
def started(settings: Settings, keeper: Keeper | None = None) -> Iterator[Settings]:
    """Run what `settings` leaves out; yields the settings with every address filled in. `keeper`
    watches what was started.

    Call it from the main thread: the stores end with the thread that started them.
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
def reached(
    settings: Settings,
    notify: Callable[[str], object] = lambda line: None,
    keeper: Keeper | None = None,
) -> Iterator[Settings]:
    """The stores of the service that runs on the data folder; if none runs, as `started`, which
    `notify` is told: whoever forgot to name their stores should know that these are others.

    Borrowed stores are left running, and end with the service that they belong to.
    Raises StoresError as `started` does, and if the service uses stores of another kind.
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
    """Return the line for whoever starts a second service on the folder."""
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
    """The pid of the service that runs on the data folder, with stores of its own."""
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
    """None if the folder is now ours. The addresses count only while another holds it."""
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
    """The stores on a folder that is ours, which is given up in the end."""
    stack = ExitStack()
    owner = os.getpid()
    stack.callback(folder.release)
    try:
        addresses = _start(settings, folder, stack, keeper or Keeper())
        stack.callback(folder.withdraw)
        folder.publish(addresses)
        yield _completed(settings, addresses)
    finally:
        if os.getpid() == owner:  # a process forked from ours may come by here too
            stack.close()


def _start(settings: Settings, folder: DataFolder, stack: ExitStack, keeper: Keeper) -> Addresses:
    """Both start at the same time; `stack` will stop them, also when this fails halfway."""
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


__all__ = ["DataInUse", "StoresError", "reached", "service_on", "started"]
