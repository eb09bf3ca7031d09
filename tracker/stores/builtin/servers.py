"""The two built-in servers: command lines, addresses, and checks that they are ready.

Both listen on 127.0.0.1 only, and keep data and log in private folders.
"""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from tracker.stores.builtin import binaries
from tracker.stores.builtin.binaries import StoresError
from tracker.stores.builtin.child import Program

REPLICA_SET = "rs0"
NOT_YET_INITIALIZED = 94

# Memory that is freed goes back to the system. An allocator that does not know these ignores them.
_GIVE_BACK = {
    "TCMALLOC_AGGRESSIVE_DECOMMIT": "t",
    "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": str(4 * 1024 * 1024),
}


class MongodMemory(NamedTuple):
    """What a mongod may take: its options of WiredTiger, and variables of its allocator."""

    engine: str
    environment: Mapping[str, str]


# WiredTiger writes dirty pages when it evicts them and at checkpoints. With a dirty target of 5 %,
# so small a cache wrote the same pages again and again: a sixth of mongod's work. By default it has
# room for 33,000 sessions, which takes 36 MB, and its log has 128 buffers of 256 KB. A buffer is at
# most a tenth of a file of the log.
TRIAL_MEMORY: Final = MongodMemory(
    "cache_size=48M,session_max=2000,log=(file_max=1MB),"
    "eviction_dirty_target=50,eviction_dirty_trigger=75,"
    "eviction_updates_target=25,eviction_updates_trigger=50",
    _GIVE_BACK,
)
"""Under load mongod takes 157 to 165 MB. With 512 MB of cache it took 300, and less time."""

LOAD_MEMORY: Final = MongodMemory(
    "cache_size=512M,eviction_dirty_target=20,eviction_dirty_trigger=40,"
    "eviction_updates_target=10,eviction_updates_trigger=20",
    {},
)
"""For measurements at sizes that a trial does not have."""


def redis_program(data: Path) -> Program:
    """Return a Redis whose acknowledged writes survive kill -9. Raises StoresError."""
    server, folder = binaries.redis_server(), _private(data / "redis")

    def command(port: int) -> list[str]:
        options = (
            f"--bind 127.0.0.1 --port {port} --protected-mode yes --appendonly yes "
            "--appendfsync always --maxmemory-policy noeviction"
        )
        return [str(server), *options.split(), "--dir", str(folder), "--save", ""]

    return Program("Redis", folder / "redis.log", {}, command, _redis_is_ready)


def mongod_program(data: Path, memory: MongodMemory = TRIAL_MEMORY) -> Program:
    """Return a mongod that is a replica set of one member. Raises StoresError."""
    server, folder = binaries.mongod(), _private(data / "mongodb")
    libraries = binaries.mongod_environment(server, data / "libraries")

    def command(port: int) -> list[str]:
        options = (
            f"--bind_ip 127.0.0.1 --port {port} --replSet {REPLICA_SET} --nounixsocket "
            "--networkMessageCompressors disabled --oplogSize 256 "
            "--setParameter diagnosticDataCollectionEnabled=false "
            f"--wiredTigerEngineConfigString {memory.engine}"
        )
        return [str(server), *options.split(), "--dbpath", str(folder)]

    log = folder / "mongod.log"
    environment = {**libraries, **memory.environment}
    return Program("mongod", log, environment, command, _mongod_is_ready)


def _private(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise StoresError(f"{folder}: {error.strerror}") from None
    return folder


def redis_url(port: int) -> str:
    return f"redis://127.0.0.1:{port}/0"


def _redis_is_ready(port: int, pid: int) -> bool:
    """Return whether Redis serves. Another program on the port has another pid."""
    once = Retry(NoBackoff(), 0)
    with Redis(host="127.0.0.1", port=port, socket_timeout=1, retry=once) as client:
        try:
            info: dict[str, Any] = client.info()
        except (RedisError, OSError):
            return False
    return info["process_id"] == pid and not info["loading"]


def mongodb_uri(port: int) -> str:
    """Return the address of the built-in mongod, for a direct connection: transactions work too."""
    return f"mongodb://127.0.0.1:{port}/?directConnection=true"


def _mongod_is_ready(port: int, pid: int) -> bool:
    """Make mongod a member of its replica set if needed; return whether it is the primary."""
    if not _listens(port):  # the driver would wait half a second before it tries again
        return False
    with MongoClient[dict[str, Any]](mongodb_uri(port), serverSelectionTimeoutMS=1000) as client:
        run = client.admin.command
        try:
            if run("serverStatus")["pid"] != pid:
                return False
            _make_member(run, f"127.0.0.1:{port}")
            return bool(run("hello")["isWritablePrimary"])
        except PyMongoError:
            return False


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _make_member(run: Callable[..., dict[str, Any]], address: str) -> None:
    """Make mongod the only member of its set: by force, because there is no primary to ask."""
    try:
        configuration = run("replSetGetConfig")["config"]
    except OperationFailure as error:
        if error.code != NOT_YET_INITIALIZED:
            raise
        run("replSetInitiate", {"_id": REPLICA_SET, "members": [{"_id": 0, "host": address}]})
        return
    if configuration["members"][0]["host"] != address:
        configuration["members"][0]["host"] = address
        configuration["version"] += 1
        run("replSetReconfig", configuration, force=True)
