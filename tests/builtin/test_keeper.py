"""A built-in store that ends while it is used is started again, with its data, where it was."""

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
from tracker.builtin.keeper import Keeper
from tracker.builtin.stores import run_stores

ELSEWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


def pid_of_redis(client: Redis) -> int:
    """0 while it does not answer."""
    try:
        information: Any = client.info("server")
    except RedisError:
        return 0
    return int(information["process_id"])


def patient(url: str) -> Redis:
    return Redis.from_url(url, retry=Retry(NoBackoff(), 0))


def test_a_redis_that_was_killed_is_there_again_with_its_data(
    tmp_path: Path, keeper: Keeper
) -> None:
    settings = Settings(data_dir=str(tmp_path), mongodb_uri="mongodb://127.0.0.1:1/")
    with run_stores(settings, keeper) as complete, patient(complete.redis_url) as client:
        client.set("kept", "yes")
        first = pid_of_redis(client)
        assert keeper.revive() > 3600
        assert pid_of_redis(client) == first
        os.kill(first, signal.SIGKILL)
        until(lambda: revived(keeper, client) not in {0, first})
        assert client.get("kept") == b"yes"
        assert "Ready to accept" in (tmp_path / "redis" / "redis.log").read_text()
    assert pid_of_redis(client) == 0


def revived(keeper: Keeper, client: Redis) -> int:
    """The pid of the Redis that runs when what has ended was started again."""
    keeper.revive()
    return pid_of_redis(client)


def test_a_mongod_that_was_killed_is_primary_again(tmp_path: Path, keeper: Keeper) -> None:
    settings = Settings(data_dir=str(tmp_path), redis_url=ELSEWHERE)
    with (
        run_stores(settings, keeper) as complete,
        MongoClient[dict[str, Any]](complete.mongodb_uri) as client,
    ):
        client["test"]["kept"].insert_one({"_id": 1})
        first = pid_of_primary(client)
        os.kill(first, signal.SIGKILL)
        until(lambda: keeper.revive() > 0 and pid_of_primary(client) not in {0, first}, seconds=60)
        assert client["test"]["kept"].count_documents({}) == 1


def pid_of_primary(client: MongoClient[dict[str, Any]]) -> int:
    """0 while it does not answer, or is none."""
    try:
        if client.admin.command("hello")["isWritablePrimary"]:
            return int(client.admin.command("serverStatus")["pid"])
    except PyMongoError:
        pass
    return 0


@contextmanager
def ending(tmp_path: Path) -> Iterator[Child]:
    """A store that ends as soon as it is started, and leaves a line in `starts` each time."""
    code = f"open({str(tmp_path / 'starts')!r}, 'a').write('.'); print('1:M # No disk')"
    program = Program(
        "Redis", tmp_path / "log", {}, lambda _: [sys.executable, "-c", code], lambda *_: True
    )
    with (tmp_path / "lock").open("w") as lock:
        child = Child(program, lock.fileno())
        child.launch()
        yield child
        child.kill()


def test_one_that_ends_again_and_again_is_tried_less_and_less_often(
    tmp_path: Path, keeper: Keeper
) -> None:
    with ending(tmp_path) as child:
        keeper.watch([child])
        pauses: list[float] = []
        while len(pauses) < 3:
            until(child.has_ended)
            if (seconds := keeper.revive()) < 3600:
                pauses.append(seconds)
                time.sleep(seconds)
                assert keeper.revive() > 3600
        assert pauses == pytest.approx([0.2, 0.4, 0.8], abs=0.05)
        until(child.has_ended)
        assert (tmp_path / "starts").read_text() == "...."
        assert child.ending() == {"store": "Redis", "status": 0, "reason": "No disk"}


def test_a_process_that_did_not_start_them_leaves_them_alone(
    tmp_path: Path, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ending(tmp_path) as child:
        keeper.watch([child])
        until(child.has_ended)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        assert not keeper.has_stores
        assert keeper.revive() > 3600
        monkeypatch.undo()
        assert (tmp_path / "starts").read_text() == "."
