"""A Redis that a test may kill, suspend and start again on the same port and data.

Also addresses of servers that hang, close connections, or do not exist.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from lab.processes import Process
from tests.ports import free_port
from tests.waiting import until
from tracker.stores.builtin.child import Program
from tracker.stores.builtin.servers import redis_program, redis_url


class OwnRedis:
    def __init__(self, process: Process) -> None:
        self._process = process
        self.port = process.port
        self.url = redis_url(process.port)

    def start(self) -> None:
        self._process.start()
        with redis.Redis.from_url(self.url, retry=Retry(NoBackoff(), 0)) as client:
            until(lambda: _answers(client))

    def kill(self) -> None:
        self._process.end()

    def freeze(self) -> None:
        """Suspend the server until `thaw`: its connections stay open, and it answers nobody."""
        self._process.stop()

    def thaw(self) -> None:
        self._process.resume()


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def with_options(program: Program, *options: str) -> Program:
    return program._replace(command=lambda port: [*program.command(port), *options])


@contextmanager
def own_redis(folder: Path, *options: str) -> Iterator[OwnRedis]:
    """Run a Redis with the options of the built-in one and `options`."""
    folder.mkdir(exist_ok=True)
    program = with_options(redis_program(folder), *options)
    with started(Process(program, free_port())) as server:
        yield server


@contextmanager
def started(process: Process) -> Iterator[OwnRedis]:
    server = OwnRedis(process)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@contextmanager
def hanging_redis() -> Iterator[str]:
    """Yield the URL of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


@contextmanager
def closing_redis() -> Iterator[int]:
    """Yield the port of a server that accepts connections and closes them at once.

    A load balancer without a backend does so.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()

        closing = threading.Thread(target=serve)
        closing.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            closing.join()


def unavailable_redis() -> str:
    """Return the URL of an unavailable Redis, which refuses connections at once."""
    return redis_url(free_port())
