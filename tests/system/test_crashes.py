"""Answered clicks are never lost or counted twice, whichever process is killed."""

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
import redis

from config.settings import Settings
from tests.ports import free_port
from tests.system.conftest import Rows
from tests.system.owner import new_owner
from tests.system.service import Service, environment, running
from tests.waiting import until
from tracker.service.http_servers import QUIET_SECONDS
from tracker.stores.builtin.binaries import redis_server as redis_binary

BURST = 400
VISITORS = 4


def burst(service: Service, path: str, each: int, answered: list[str]) -> None:
    """Open `path` from several connections; add each answered click id to `answered`."""

    def visit() -> None:
        try:
            with service.client() as client:
                for _ in range(each):
                    answered.append(client("GET", path).click_id)  # noqa: PERF401
        except (OSError, KeyError, ValueError):
            return  # the service was killed, as the test wants
        except Exception as error:
            if not type(error).__module__.startswith("http"):
                raise

    visitors = [threading.Thread(target=visit) for _ in range(VISITORS)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()


def stored_clicks(database: Rows) -> list[UUID]:
    return [row["_id"] for row in database["clicks"].find({}, ["_id"])]


def test_clicks_answered_while_the_service_is_killed_are_stored_once(
    settings: Settings, database: Rows
) -> None:
    variables = environment(settings)
    answered: list[str] = []
    with running(variables) as first:
        new_owner(variables).create_link(first, slug="burst")
        visitors = threading.Thread(target=burst, args=(first, "/c/burst", 5000, answered))
        visitors.start()
        until(lambda: len(answered) > BURST)
        first.kill()
        visitors.join()
    with running(variables), redis.Redis.from_url(settings.redis_url) as client:
        until(lambda: client.xlen("journal") == 0)
    assert set(map(UUID, answered)) <= set(stored_clicks(database))


def test_a_signal_stops_the_service_cleanly_with_every_answered_click_durable(
    settings: Settings, database: Rows
) -> None:
    variables = environment(settings)
    answered: list[str] = []
    with running(variables) as service:
        new_owner(variables).create_link(service, slug="burst")
        visitors = threading.Thread(target=burst, args=(service, "/c/burst", 5000, answered))
        visitors.start()
        until(lambda: len(answered) > BURST)
        assert service.stop() == 0
        visitors.join()
    with running(variables), redis.Redis.from_url(settings.redis_url) as client:
        until(lambda: client.xlen("journal") == 0)
    assert set(map(UUID, answered)) <= set(stored_clicks(database))


def test_a_stop_answers_requests_already_sent_on_kept_connections(
    settings: Settings,
) -> None:
    variables = environment(settings)
    cut: list[Exception] = []
    busy = threading.Barrier(9)

    def visit(service: Service) -> None:
        with service.client() as client:
            client("GET", "/healthz")
            busy.wait()
            began = time.monotonic()
            while True:
                before, began = began, time.monotonic()
                try:
                    answer = client("GET", "/healthz")
                except Exception as error:
                    # A connection may be closed on a client that was silent for as long.
                    if time.monotonic() - before < QUIET_SECONDS:
                        cut.append(error)
                    return
                if answer.headers.get("connection") == "close":
                    return

    with running(variables) as service:
        clients = [threading.Thread(target=visit, args=(service,)) for _ in range(8)]
        for client in clients:
            client.start()
        busy.wait()
        assert service.stop() == 0
        for client in clients:
            client.join()
    assert cut == []


def readiness(service: Service) -> tuple[int, Any]:
    """Return the status of `/readyz` and what is degraded. A store may just be slow."""
    ready = service.get("/readyz")
    return ready.status, ready.json.get("degraded")


def is_ready_without_redis(service: Service) -> bool:
    """Return whether the service has noticed the loss of Redis. It is ready all the time."""
    status, degraded = readiness(service)
    assert status == 200
    return bool(degraded == {"redis": "no answer"})


class RedisServer:
    """A Redis of one test, which keeps its address when it is killed and restarted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self.start()

    def start(self) -> None:
        options = f"--port {self._port} --bind 127.0.0.1 --appendonly yes --save  --dir".split(" ")
        self._process = subprocess.Popen(
            [str(redis_binary()), *options, str(self._folder)], stdout=subprocess.DEVNULL
        )
        with redis.Redis.from_url(self.url) as client:
            until(lambda: answers(client))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def answers(client: "redis.Redis") -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    yield server
    server.kill()


def test_with_redis_killed_visitors_are_redirected_and_their_clicks_are_stored_later(
    settings: Settings, database: Rows, redis_server: RedisServer
) -> None:
    settings = msgspec.structs.replace(settings, redis_url=redis_server.url)
    variables = environment(settings)
    answered: list[str] = []
    with running(variables) as service:
        new_owner(variables).create_link(service, slug="busy")
        redis_server.kill()
        burst(service, "/c/busy", 25, answered)
        assert len(answered) == 25 * VISITORS
        until(lambda: is_ready_without_redis(service))
        redis_server.start()
        until(lambda: database["clicks"].count_documents({}) == len(answered))
    assert sorted(stored_clicks(database)) == sorted(map(UUID, answered))
