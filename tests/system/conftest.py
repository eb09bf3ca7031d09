"""The service as a process on the session's stores, and the database that it writes to."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from config.settings import Settings
from tests.system.service import PATIENT, Service, environment, running

Rows = Database[dict[str, Any]]


@pytest.fixture
def database(settings: Settings, mongodb: MongoClient[dict[str, Any]]) -> Rows:
    return mongodb[settings.mongodb_database]


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    with running(environment(settings), program=PATIENT) as process:
        yield process
