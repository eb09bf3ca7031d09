"""A built-in store that ends while it is used is restarted, with its data, at its address."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import PyMongoError
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from config.settings import Settings
from tests.system.service import until
from tracker.builtin.child import Child, Program
from tracker.builtin.stores import run_stores
from tracker.builtin.watchdog import Watchdog

ELSEWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def watchdog() -> Watchdog:
    return Watchdog()


def pid_of_redis(client: Redis) -> int:
    """Return the pid of the Redis, 0 while it does not answer."""
    try:
        information: Any = client.info("server")
    except RedisError:
        return 0
    return int(information["process_id"])


def unretrying(url: str) -> Redis:
    return Redis.from_url(url, retry=Retry(NoBackoff(), 0))


def test_a_killed_redis_is_restarted_with_its_data(tmp_path: Path, watchdog: Watchdog) -> None:
    settings = Settings(data_dir=str(tmp_path), mongodb_uri="mongodb://127.0.0.1:1/")
    with run_stores(settings, watchdog) as complete, unretrying(complete.redis_url) as client:
        client.set("kept", "yes")
        first = pid_of_redis(client)
        assert watchdog.restart_ended() > 3600
        assert pid_of_redis(client) == first
        os.kill(first, signal.SIGKILL)
        until(lambda: pid_after_restart(watchdog, client) not in {0, first})
        assert client.get("kept") == b"yes"
        assert "Ready to accept" in (tmp_path / "redis" / "redis.log").read_text()
    assert pid_of_redis(client) == 0


def pid_after_restart(watchdog: Watchdog, client: Redis) -> int:
    """Return the pid of the Redis that runs after a call of the watchdog."""
    watchdog.restart_ended()
    return pid_of_redis(client)


def test_a_killed_mongod_is_restarted_as_primary(tmp_path: Path, watchdog: Watchdog) -> None:
    settings = Settings(data_dir=str(tmp_path), redis_url=ELSEWHERE)
    with (
        run_stores(settings, watchdog) as complete,
        # Without a limit a call would wait 30 s for a mongod that only the watchdog restarts.
        MongoClient[dict[str, Any]](complete.mongodb_uri, serverSelectionTimeoutMS=500) as client,
    ):
        client["test"]["kept"].insert_one({"_id": 1})
        first = pid_of_primary(client)
        os.kill(first, signal.SIGKILL)
        until(
            lambda: watchdog.restart_ended() > 0 and pid_of_primary(client) not in {0, first},
            seconds=60,
        )
        assert client["test"]["kept"].count_documents({}) == 1


def pid_of_primary(client: MongoClient[dict[str, Any]]) -> int:
    """Return the pid of the primary, 0 while there is none."""
    try:
        if client.admin.command("hello")["isWritablePrimary"]:
            return int(client.admin.command("serverStatus")["pid"])
    except PyMongoError:
        pass
    return 0


@contextmanager
def ending(tmp_path: Path) -> Iterator[Child]:
    """Yield a store that ends as soon as it is started, and adds a dot to `starts` each time."""
    code = f"open({str(tmp_path / 'starts')!r}, 'a').write('.'); print('1:M # No disk')"
    program = Program(
        "Redis", tmp_path / "log", {}, lambda _: [sys.executable, "-c", code], lambda *_: True
    )
    with (tmp_path / "lock").open("w") as lock:
        child = Child(program, lock.fileno())
        child.launch()
        yield child
        child.kill()


def test_a_store_that_keeps_ending_is_restarted_after_growing_pauses(
    tmp_path: Path, watchdog: Watchdog
) -> None:
    with ending(tmp_path) as child:
        watchdog.watch([child])
        pauses: list[float] = []
        while len(pauses) < 3:
            until(child.has_ended)
            if (seconds := watchdog.restart_ended()) < 3600:
                pauses.append(seconds)
                time.sleep(seconds)
                assert watchdog.restart_ended() > 3600
        assert pauses == pytest.approx([0.2, 0.4, 0.8], abs=0.05)
        until(child.has_ended)
        assert (tmp_path / "starts").read_text() == "...."
        assert child.exit_fields() == {"store": "Redis", "status": 0, "reason": "No disk"}


def test_only_the_process_that_started_the_stores_restarts_them(
    tmp_path: Path, watchdog: Watchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ending(tmp_path) as child:
        watchdog.watch([child])
        until(child.has_ended)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        assert not watchdog.has_stores
        assert watchdog.restart_ended() > 3600
        monkeypatch.undo()
        assert (tmp_path / "starts").read_text() == "."
