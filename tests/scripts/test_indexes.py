"""`indexes`, as a release runs it: makes what is missing, once, and says what there is."""

import shlex
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import orjson
import pytest
from pymongo import MongoClient
from pymongo.database import Database

from tests.scripts.conftest import ROOT, Run
from tracker.stores.mongodb.indexes import INDEXES

NAMES = {
    collection: {index.document["name"] for index in indexes}
    for collection, indexes in INDEXES.items()
}


@pytest.fixture
def empty(mongodb: MongoClient[dict[str, Any]]) -> Iterator[Database[dict[str, Any]]]:
    """Return the name of a database that does not exist yet."""
    database = mongodb[f"release-{uuid4().hex[:8]}"]
    yield database
    mongodb.drop_database(database.name)


def test_a_release_makes_every_index_and_another_changes_nothing(
    run: Run, empty: Database[dict[str, Any]]
) -> None:
    procfile = dict(
        line.split(": ", 1) for line in (ROOT / "Procfile").read_text("utf-8").splitlines()
    )
    python, module, name = shlex.split(procfile["release"])
    assert (python, module) == ("python", "-m")
    printed = []
    for _ in range(2):
        ended = run(name.removeprefix("scripts."), "--json", MONGODB_DATABASE=empty.name)
        assert (ended.returncode, ended.stderr) == (0, "")
        printed.append(ended.stdout)
        for collection, names in NAMES.items():
            assert set(empty[collection].index_information()) == names | {"_id_"}
    assert printed[0] == printed[1]
    reported = {(row["collection"], row["index"]) for row in orjson.loads(printed[0])}
    assert reported == {(name, index) for name, indexes in NAMES.items() for index in indexes}


def test_a_missing_index_is_made_and_the_others_stay(
    run: Run, empty: Database[dict[str, Any]]
) -> None:
    assert run("indexes", MONGODB_DATABASE=empty.name).returncode == 0
    empty["links"].insert_one({"domain_id": None, "slug": "a"})
    empty["links"].drop_index("by_domain_and_slug")
    assert run("indexes", MONGODB_DATABASE=empty.name).returncode == 0
    assert set(empty["links"].index_information()) == NAMES["links"] | {"_id_"}
    assert empty["links"].count_documents({}) == 1


def test_a_mongodb_without_transactions_is_refused_with_the_remedy(
    run: Run, standalone: str
) -> None:
    ended = run("indexes", MONGODB_URI=standalone)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("python -m scripts.indexes: MONGODB_URI names a standalone")
    assert "--replSet rs0" in ended.stderr
    assert ended.stderr.count("\n") == 1
