"""`shard` prints what it would run, and runs it on a router only."""

import orjson

from tests.scripts.conftest import Run
from tracker.db.sharding import commands
from tracker.service.services import Services


def test_the_commands_are_printed_in_their_order(run: Run, services: Services) -> None:
    rows = run.rows("shard")
    assert [row["method"] for row in rows] == ["createIndex", "createIndex", *["adminCommand"] * 4]
    printed = [orjson.loads(row["command"]) for row in rows[2:]]
    assert printed == commands(services.database.name)


def test_a_replica_set_is_not_sharded(run: Run, services: Services) -> None:
    ended = run("shard", "--run")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "python -m scripts.shard: MONGODB_URI names a replica set, not a router (mongos) of a "
        "sharded cluster: nothing was changed\n"
    )
