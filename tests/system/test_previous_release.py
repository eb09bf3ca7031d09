"""What web processes of 1.0.0 answered before they were stopped, drains of this release store."""

import io
import subprocess
import tarfile
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

PREVIOUS = "32e354a2"
"""A commit of 1.0.0."""


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """Return a folder with 1.0.0."""
    done = subprocess.run(
        ["git", "archive", PREVIOUS, "run.py", "config", "tracker"], cwd=ROOT, capture_output=True
    )
    if done.returncode:
        pytest.skip(f"{PREVIOUS} is not in this clone, or there is no git")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(tmp_path / "previous", filter="data")
    return tmp_path / "previous"


def test_drains_store_what_a_stopped_1_0_0_answered(
    settings: Settings, database: Rows, previous: Path
) -> None:
    variables = environment(settings)
    owner = new_owner(variables)
    pbk = new_event_config(variables, owner)
    program = (str(previous / "run.py"),)
    with running(variables, "--role", "web", program=program) as web:
        owner.create_link(web, slug="abc")
        clicks = {UUID(web.get("/c/abc").click_id) for _ in range(5)}
        path = f"/api/event?click_id={min(clicks)}&pbk={pbk}&transaction_id="
        events = {web.get(f"{path}T-{number}").json["eventId"] for number in (1, 2, 1)}
        assert len(events) == 2
    with redis.Redis.from_url(settings.redis_url) as client, running(variables) as service:
        until(lambda: client.xlen("journal") == 0)
        assert client.xlen("journal:dead") == 0
        # A claim that was drained still gives the first event's id.
        assert service.get(f"{path}T-1").json["eventId"] in events
        assert service.get("/c/abc").status == 302
    assert {row["_id"] for row in database["clicks"].find({}, ["_id"])} >= clicks
    stored = list(database["events"].find({}, ["status"]))
    assert {row["_id"] for row in stored} == events
    assert {row["status"] for row in stored} == {"attributed"}
