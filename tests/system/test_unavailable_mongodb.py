"""MongoDB is unavailable when the service starts."""

from typing import Any

import msgspec
from pymongo import MongoClient

from config.settings import Settings
from tests.suspended import suspended
from tests.system.owner import new_owner
from tests.system.service import environment, running
from tests.waiting import until


def test_without_mongodb_at_the_start_nothing_is_written_before_the_indexes_exist(
    settings: Settings, mongodb: MongoClient[dict[str, Any]]
) -> None:
    settings = msgspec.structs.replace(settings, mongodb_database="started_without")
    mongodb.drop_database(settings.mongodb_database)
    variables = environment(settings)
    owner = new_owner(variables)
    with suspended(mongodb.admin.command("serverStatus")["pid"]):
        process = running(variables)
        service = process.__enter__()
        assert service.get("/readyz").status == 503
        assert owner.create_link(service, slug="same").status == 503
    try:
        until(lambda: service.get("/readyz").json == {"status": "ready"})
        assert [owner.create_link(service, slug="same").status for _ in range(2)] == [200, 400]
    finally:
        process.__exit__(None, None, None)
