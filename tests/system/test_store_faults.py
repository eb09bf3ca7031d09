"""Stores that cannot be used end the start with one line and an exit code."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.settings import Settings
from tests.paths import ROOT
from tests.stores.mongodb.own_mongodb import uninitiated_mongodb
from tests.stores.redis.own_redis import OwnRedis, own_redis, unavailable_redis
from tests.system.service import environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until


def failing_start(variables: dict[str, str], *arguments: str) -> tuple[int, str]:
    """Run a start that fails; return its exit code and its standard error."""
    done = subprocess.run(
        [sys.executable, *(arguments or ("run.py",))],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnRedis]:
    with own_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


WRONG = {
    "database": (
        "REDIS_URL",
        "redis://{redis}/99",
        "run.py: REDIS_URL: Redis has no database of this number",
    ),
    "password": (
        "REDIS_URL",
        "redis://:geheim@{redis}/0",
        "run.py: REDIS_URL: it has a password, but Redis has none",
    ),
    "replica set": (
        "MONGODB_URI",
        "mongodb://{mongodb}/?replicaSet=other",
        "run.py: MONGODB_URI: replicaSet does not name the replica set of its servers",
    ),
    "credentials": (
        "MONGODB_URI",
        "mongodb://joe:geheim@{mongodb}/?directConnection=true",
        "run.py: MONGODB_URI: MongoDB refuses the user or the password",
    ),
}


@pytest.mark.parametrize("role", ["all", "drain"])
@pytest.mark.parametrize("case", WRONG)
def test_a_permanent_fault_ends_the_start_with_one_line(
    settings: Settings, redis: OwnRedis, case: str, role: str
) -> None:
    name, value, message = WRONG[case]
    address = f"127.0.0.1:{redis.port}"
    url = value.format(redis=address, mongodb=settings.mongodb_uri.split("/")[2])
    code, errors = failing_start(environment(settings) | {name: url}, "run.py", "--role", role)
    assert code == 1
    assert message in errors
    assert errors.count("\n") == 1
    assert "geheim" not in errors


def test_a_script_reports_the_same_fault(settings: Settings) -> None:
    wrong = environment(settings) | {
        "MONGODB_URI": f"mongodb://{settings.mongodb_uri.split('/')[2]}/?replicaSet=other"
    }
    code, errors = failing_start(wrong, "-m", "scripts.accounts", "list")
    assert code == 1
    assert errors.startswith(
        "python -m scripts.accounts: MONGODB_URI: replicaSet does not name the replica set"
    )
    assert errors.count("\n") == 1


@pytest.mark.parametrize("folder", ["run.py", "run.py/data", "/proc"])
def test_a_data_folder_that_cannot_be_written_to_is_refused(
    settings: Settings, folder: str
) -> None:
    code, errors = failing_start(environment(settings) | {"DATA_DIR": folder})
    assert code == 1
    assert errors.startswith(f"run.py: DATA_DIR={(ROOT / folder).resolve()}: must be a folder")
    assert errors.count("\n") == 1


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
