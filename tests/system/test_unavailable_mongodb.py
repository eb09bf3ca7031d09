"""MongoDB is unavailable, at the start and later."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from pymongo import MongoClient

from config.settings import Settings
from tests.suspended import suspended
from tests.system.owner import new_owner
from tests.system.service import environment, running
from tests.waiting import until


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


def test_without_mongodb_a_link_that_no_process_has_opened_redirects(
    settings: Settings, mongodb: MongoClient[dict[str, Any]]
) -> None:
    variables = environment(settings)
    with running(variables) as service:
        new_owner(variables).create_link(service, slug="known")
    with running(variables) as fresh, mongod_suspended(mongodb):
        assert fresh.get("/c/known").status == 302
