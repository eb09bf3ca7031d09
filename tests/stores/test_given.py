"""Stores that are given to the suite by address: used, and empty before and after."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from redis import Redis

from config.settings import Settings
from tests.paths import ROOT
from tests.stores.given import EXAMPLE, borrowed_mongodb, borrowed_redis
from tracker.stores.builtin.stores import run_stores


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Yield the settings of two more stores, which are empty."""
    folder = tmp_path_factory.mktemp("given")
    with run_stores(Settings(data_dir=str(folder), log_level="warning")) as settings:
        yield settings


def suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the suite with `arguments`, in one process."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    # Not a worker of this run.
    variables = {name: os.environ[name] for name in os.environ if "PYTEST" not in name}
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)


def test_the_suite_uses_given_stores_and_leaves_them_empty(empty: Settings) -> None:
    ended = suite("--redis", empty.redis_url, "--mongodb", empty.mongodb_uri, EXAMPLE)
    assert ended.returncode == 0, ended.stdout
    with (
        Redis.from_url(empty.redis_url) as redis,
        MongoClient[dict[str, Any]](empty.mongodb_uri) as mongodb,
    ):
        assert redis.info("commandstats")["cmdstat_flushall"]["calls"] > 1
        assert redis.info("keyspace") == {}
        commands = mongodb.admin.command("serverStatus")["metrics"]["commands"]
        assert commands["createIndexes"]["total"] > 1
        assert empty.mongodb_database not in mongodb.list_database_names()


def test_a_redis_with_data_is_not_emptied(empty: Settings) -> None:
    with Redis.from_url(empty.redis_url) as redis:
        redis.set("somebody's", "value")
        with pytest.raises(pytest.exit.Exception, match="is not empty"):
            borrowed_redis(empty.redis_url).__enter__()
        assert redis.delete("somebody's") == 1


def test_a_database_with_data_is_not_emptied(empty: Settings) -> None:
    name = empty.mongodb_database
    with MongoClient[dict[str, Any]](empty.mongodb_uri) as mongodb:
        mongodb[name]["links"].insert_one({})
        with pytest.raises(pytest.exit.Exception, match="has a database"):
            borrowed_mongodb(empty.mongodb_uri, name).__enter__()
        assert mongodb[name]["links"].count_documents({}) == 1
        mongodb.drop_database(name)


@pytest.mark.parametrize(
    "option", ["--redis=redis://127.0.0.1:1/0", "--mongodb=mongodb://127.0.0.1"]
)
def test_two_processes_do_not_share_a_given_store(option: str) -> None:
    ended = suite("-n", "2", option, EXAMPLE)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "one process at a time" in ended.stderr
