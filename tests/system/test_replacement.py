"""SIGUSR2 replaces the workers one by one, with the program that is on disk then."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from config.settings import Settings
from tests.system.conftest import Rows
from tests.system.owner import new_owner
from tests.system.service import Service, environment, running, until
from tests.system.test_processes import Visitors, processes
from tests.test_import_order import ROOT
from tracker import __version__


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a copy of the program, which a test may change."""
    copy = tmp_path / "program"
    for name in ("config", "tracker"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "run.py", copy)
    return copy


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def service(program: Path, settings: Settings, log: Path) -> Iterator[Service]:
    variables = environment(
        settings, WEB_CONCURRENCY="2", LOG_LEVEL="error", PYTHONDONTWRITEBYTECODE="1"
    )
    command = (str(program / "run.py"),)
    with log.open("w") as file, running(variables, program=command, errors=file) as started:
        new_owner(variables).create_link(started, slug="busy")
        until(lambda: len(processes(started)) == 2)
        yield started


def version(service: Service) -> str:
    found: str = service.get("/healthz").json["version"]
    return found


def release(program: Path, number: str) -> None:
    file = program / "tracker" / "__init__.py"
    file.write_text(file.read_text("utf-8").replace(__version__, number), "utf-8")


def test_a_new_release_takes_over_while_visitors_are_served_and_nothing_is_lost(
    service: Service, program: Path, database: Rows
) -> None:
    before = set(processes(service))
    requests = service.get("/metrics").body.count(b"tracker_requests_total{")
    with Visitors(service, "/c/busy") as visitors:
        visitors.wait_for(200)
        release(program, "99.0.0")
        service.process.send_signal(signal.SIGUSR2)
        until(lambda: not before & set(processes(service)), seconds=60)
        visitors.wait_for(200)
    assert visitors.refused == []
    assert visitors.broken == 0
    assert {version(service) for _ in range(10)} == {"99.0.0"}
    assert len(processes(service)) == 2
    assert service.get("/metrics").body.count(b"tracker_requests_total{") >= requests
    answered = set(map(UUID, visitors.answered))
    until(lambda: database["clicks"].count_documents({}) >= len(answered), seconds=60)
    assert {row["_id"] for row in database["clicks"].find({}, ["_id"])} == answered
    assert service.stop() == 0
    assert "answers at" not in service.printed()


def test_a_release_that_does_not_start_replaces_nobody(
    service: Service, program: Path, log: Path
) -> None:
    before = processes(service)
    roles = program / "tracker" / "service" / "roles.py"
    working = roles.read_text("utf-8")
    roles.write_text("raise RuntimeError('half a release')\n", "utf-8")
    service.process.send_signal(signal.SIGUSR2)
    release(program, "99.0.0")
    until(lambda: "half a release" in log.read_text("utf-8"))
    assert processes(service) == before
    roles.write_text(working, "utf-8")
    service.process.send_signal(signal.SIGUSR2)
    until(lambda: not set(before) & set(processes(service)), seconds=60)
    assert version(service) == "99.0.0"
    assert service.stop() == 0
