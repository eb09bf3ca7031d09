"""The two built-in servers: command lines, addresses, and checks that they are ready.

Both keep data and log in private folders. They have no passwords. A trial's listen on a
Unix socket that only its owner may open; laboratory and tests also start some on 127.0.0.1.
"""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from tracker.stores.builtin import binaries
from tracker.stores.builtin.child import Program
from tracker.stores.builtin.data_folder import private_folder

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


def redis_program(data: Path, at: Path | None = None) -> Program:
    """Return a Redis whose acknowledged writes survive kill -9. Raises StoresError.

    It listens on the socket `at` and on no port; without one, on a port.
    """
    server, folder = binaries.redis_server(), private_folder(data / "redis")

    def command(port: int) -> list[str]:
        listen = (
            ["--port", "0", "--unixsocket", str(at), "--unixsocketperm", "600"]
            if at
            else f"--bind 127.0.0.1 --port {port} --protected-mode yes".split()
        )
        options = "--appendonly yes --appendfsync always --maxmemory-policy noeviction"
        return [str(server), *listen, *options.split(), "--dir", str(folder), "--save", ""]

    def is_ready(port: int, pid: int) -> bool:
        return _redis_is_ready(redis_url(at or port), pid)

    return Program("Redis", folder / "redis.log", {}, command, is_ready)


def mongod_program(
    data: Path, memory: MongodMemory = TRIAL_MEMORY, at: Path | None = None
) -> Program:
    """Return a mongod that is a replica set of one member. Raises StoresError.

    It listens on the socket `at` and on no port; without one, on a port.
    """
    server, folder = binaries.mongod(), private_folder(data / "mongodb")
    libraries = binaries.mongod_environment(server, data / "libraries")

    def command(port: int) -> list[str]:
        listen = (
            ["--bind_ip", str(at), "--filePermissions", "0600"]
            if at
            else ["--bind_ip", "127.0.0.1", "--port", str(port)]
        )
        options = (
            f"--replSet {REPLICA_SET} --nounixsocket "
            "--networkMessageCompressors disabled --oplogSize 256 "
            "--setParameter diagnosticDataCollectionEnabled=false "
            f"--wiredTigerEngineConfigString {memory.engine}"
        )
        return [str(server), *listen, *options.split(), "--dbpath", str(folder)]

    def is_ready(port: int, pid: int) -> bool:
        return _mongod_is_ready(at or port, pid)

    log = folder / "mongod.log"
    environment = {**libraries, **memory.environment}
    return Program("mongod", log, environment, command, is_ready)


def redis_url(where: int | Path) -> str:
    """Return the address of a Redis on a port of 127.0.0.1 or on a socket."""
    return (
        f"redis://127.0.0.1:{where}/0" if isinstance(where, int) else f"unix://{quote(str(where))}"
    )


def _redis_is_ready(url: str, pid: int) -> bool:
    """Return whether Redis serves. Another program on the port has another pid."""
    once = Retry(NoBackoff(), 0)
    with Redis.from_url(url, socket_timeout=1, retry=once) as client:
        try:
            info: dict[str, Any] = client.info()
        except (RedisError, OSError):
            return False
    return info["process_id"] == pid and not info["loading"]


def mongodb_uri(where: int | Path) -> str:
    """Return the address of a mongod on a port of 127.0.0.1 or on a socket.

    It is for a direct connection: transactions work too.
    """
    return f"mongodb://{quote(_host(where), safe=':')}/?directConnection=true"


def _host(where: int | Path) -> str:
    return f"127.0.0.1:{where}" if isinstance(where, int) else str(where)


def _mongod_is_ready(where: int | Path, pid: int) -> bool:
    """Make mongod a member of its replica set if needed; return whether it is the primary."""
    if not _listens(where):  # the driver would wait half a second before it tries again
        return False
    with MongoClient[dict[str, Any]](mongodb_uri(where), serverSelectionTimeoutMS=1000) as client:
        run = client.admin.command
        try:
            if run("serverStatus")["pid"] != pid:
                return False
            _make_member(run, _host(where))
            return bool(run("hello")["isWritablePrimary"])
        except PyMongoError:
            return False


def _listens(where: int | Path) -> bool:
    is_port = isinstance(where, int)
    with socket.socket(socket.AF_INET if is_port else socket.AF_UNIX) as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", where) if is_port else str(where)) == 0


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
