"""Stores that `--redis` and `--mongodb` give to the suite by address. It empties them.

So they must be empty at first, and no second process may use them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pymongo import MongoClient
from redis import Redis

from tests.stores.redis.own_cluster import forget_everything

_SCHEMES = ("redis://", "unix://")

EXAMPLE = "tests/links/test_store.py::test_a_link_that_is_switched_off_and_on_is_found_again"
"""A test of both stores."""


def given_redis(config: pytest.Config) -> str:
    """Return the address that `--redis` has; empty if it has none, or something else."""
    chosen: str = config.getoption("--redis") or ""
    return chosen if chosen.startswith(_SCHEMES) else ""


def given_mongodb(config: pytest.Config) -> str:
    """Return the address of `--mongodb`, or an empty text."""
    return config.getoption("--mongodb") or ""


def refuse_several_processes(config: pytest.Config) -> None:
    """Raise UsageError if several processes would empty the same given store."""
    given = given_redis(config) or given_mongodb(config)
    if given and config.getoption("numprocesses", None):
        raise pytest.UsageError(f"{given}: one process at a time may use a given store, without -n")


@contextmanager
def borrowed_redis(url: str) -> Iterator[None]:
    """Borrow the Redis at `url`, and empty it afterwards. The run ends if it is not empty."""
    with Redis.from_url(url) as client:
        if client.info("keyspace"):
            pytest.exit(f"--redis {url} is not empty, and the tests would empty it", 1)
    yield
    forget_everything(url)


@contextmanager
def borrowed_mongodb(uri: str, database: str) -> Iterator[None]:
    """Borrow `database` at `uri`, and drop it afterwards. The run ends if it is not empty."""
    with MongoClient[dict[str, Any]](uri) as client:
        if client[database].list_collection_names():
            pytest.exit(f"--mongodb has a database {database}, which the tests would empty", 1)
        yield
        client.drop_database(database)
