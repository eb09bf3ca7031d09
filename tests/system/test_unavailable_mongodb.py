"""MongoDB is unavailable, at the start and later."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import redis
from pymongo import MongoClient

from config.settings import Settings
from tests.suspended import suspended
from tests.system.owner import new_owner
from tests.system.service import environment, running
from tests.waiting import until
from tracker.stores.redis import keys


@contextmanager
def mongod_suspended(client: MongoClient[dict[str, Any]]) -> Iterator[None]:
    with suspended(client.admin.command("serverStatus")["pid"]):
        yield


def test_without_mongodb_at_the_start_nothing_is_written_before_the_indexes_exist(
    settings: Settings, mongodb: MongoClient[dict[str, Any]]
) -> None:
    settings = msgspec.structs.replace(settings, mongodb_database="started_without")
    mongodb.drop_database(settings.mongodb_database)
    variables = environment(settings)
    owner = new_owner(variables)
    with mongod_suspended(mongodb):
        process = running(variables)
        service = process.__enter__()
        assert service.get("/readyz").status == 503
        assert owner.create_link(service, slug="same").status == 503
    try:
        until(lambda: service.get("/readyz").json == {"status": "ready"})
        assert [owner.create_link(service, slug="same").status for _ in range(2)] == [200, 400]
    finally:
        process.__exit__(None, None, None)


def test_without_mongodb_a_link_whose_cached_copy_has_expired_redirects(
    settings: Settings, mongodb: MongoClient[dict[str, Any]]
) -> None:
    variables = environment(settings)
    with running(variables) as service:
        new_owner(variables).create_link(service, slug="known")
        assert service.get("/c/known").status == 302
    with running(variables) as fresh, redis.Redis.from_url(settings.redis_url) as client:
        client.delete(keys.link("", "known"))
        with mongod_suspended(mongodb):
            assert fresh.get("/c/known").status == 302
