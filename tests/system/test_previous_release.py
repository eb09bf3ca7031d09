"""What web processes of one release answered, drains of another store: upgrade and rollback."""

import io
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest
import redis

from config.settings import Settings
from tests.paths import ROOT
from tests.system.conftest import Rows
from tests.system.owner import new_event_config, new_owner
from tests.system.service import environment, running
from tests.waiting import until

PREVIOUS = "a172bc73"
"""A commit of the release before the journal had partitions."""


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """Return a folder with the program as it was before."""
    done = subprocess.run(
        ["git", "archive", PREVIOUS, "run.py", "config", "tracker"], cwd=ROOT, capture_output=True
    )
    if done.returncode:
        pytest.skip(f"{PREVIOUS} is not in this clone, or there is no git")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(tmp_path / "previous", filter="data")
    return tmp_path / "previous"


@contextmanager
def drain(variables: dict[str, str], program: Path) -> Iterator[None]:
    """Run a drain of a release."""
    command = [sys.executable, str(program / "run.py"), "--role", "drain"]
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
    assert process.returncode == 0


@pytest.mark.parametrize("is_upgrade", [True, False], ids=["upgrade", "rollback"])
def test_drains_of_one_release_store_what_web_processes_of_another_answered(
    settings: Settings, database: Rows, previous: Path, is_upgrade: bool
) -> None:
    writes, reads = (previous, ROOT) if is_upgrade else (ROOT, previous)
    variables = environment(settings)
    program = (str(writes / "run.py"),)
    with (
        running(variables, "--role", "web", program=program) as web,
        redis.Redis.from_url(settings.redis_url) as client,
    ):
        owner = new_owner(variables)
        pbk = new_event_config(variables, owner)
        owner.create_link(web, slug="abc")
        clicks = [UUID(web.get("/c/abc").click_id) for _ in range(5)]
        path = f"/api/event?click_id={clicks[0]}&pbk={pbk}&transaction_id="
        events = {web.get(f"{path}T-{number}").json["eventId"] for number in (1, 2, 1)}
        assert len(events) == 2
        assert client.xlen("journal") > 0
        with drain(variables, reads):
            until(lambda: client.xlen("journal") == 0)
        assert client.xlen("journal:dead") == 0
        # A claim that was drained still gives the first event's id.
        assert web.get(f"{path}T-1").json["eventId"] in events
    assert {row["_id"] for row in database["clicks"].find({}, ["_id"])} == set(clicks)
    stored = list(database["events"].find({}, ["status"]))
    assert {row["_id"] for row in stored} == events
    assert {row["status"] for row in stored} == {"attributed"}
