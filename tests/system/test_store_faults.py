"""Stores that cannot be used end the start with one line and an exit code."""

from pathlib import Path

import pytest

from config.settings import Settings
from tests.paths import ROOT
from tests.stores.mongodb.own_mongodb import uninitiated_mongodb
from tests.stores.redis.own_redis import unavailable_redis
from tests.system.service import ended, environment, running
from tests.waiting import until


def fault(variables: dict[str, str], *arguments: str) -> str:
    """Return the only line that a start prints, which fails."""
    refused = ended(variables, *arguments)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    return refused.stderr


def test_a_permanent_fault_ends_the_start_of_a_role_or_a_script_with_one_line(
    settings: Settings,
) -> None:
    mongodb = f"mongodb://{settings.mongodb_uri.split('/')[2]}/?replicaSet=other"
    wrong = environment(settings) | {"MONGODB_URI": mongodb}
    said = "MONGODB_URI: replicaSet does not name the replica set"
    assert fault(wrong).startswith(f"run.py: {said}")
    assert fault(wrong, "-m", "scripts.accounts", "list").startswith(
        f"python -m scripts.accounts: {said}"
    )
    wrong = environment(settings) | {"REDIS_URL": f"{settings.redis_url}?db=99"}
    for role in ("all", "drain"):
        line = fault(wrong, "run.py", "--role", role)
        assert line.startswith("run.py: REDIS_URL: Redis has no database of this number")


@pytest.mark.parametrize("folder", ["run.py", "/proc"])
def test_a_data_folder_that_cannot_be_written_to_is_refused(
    settings: Settings, folder: str
) -> None:
    line = fault(environment(settings) | {"DATA_DIR": folder})
    assert line.startswith(f"run.py: DATA_DIR={(ROOT / folder).resolve()}: must be a folder")


def test_temporarily_unavailable_stores_are_waited_for(tmp_path: Path, settings: Settings) -> None:
    with uninitiated_mongodb(tmp_path) as port:
        variables = environment(
            settings,
            LOG_FORMAT="json",
            REDIS_URL=unavailable_redis(),
            MONGODB_URI=f"mongodb://127.0.0.1:{port}/?replicaSet=rs0",
        )
        log = tmp_path / "log"
        with log.open("w") as file, running(variables, errors=file) as service:
            assert service.get("/healthz").status == 200
            until(lambda: "Connection refused" in log.read_text())
            assert "never initiated: run once: mongosh --eval 'rs.initiate()'" in log.read_text()
            assert "building indexes" not in log.read_text()
