"""The roles of `run.py`: web answers and does not drain, drain drains and does not answer."""

import os
import signal
from pathlib import Path
from typing import Any

import redis
from pymongo import MongoClient

from config.settings import Settings
from tests.system.conftest import Rows
from tests.system.owner import new_owner
from tests.system.processes import drain
from tests.system.service import Service, ended, environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until
from tracker.stores.builtin.data_folder import Addresses, DataFolder
from tracker.stores.redis import keys


def test_clicks_recorded_by_web_wait_for_a_drain(settings: Settings, database: Rows) -> None:
    variables = environment(settings)
    with redis.Redis.from_url(settings.redis_url) as client:
        with running(variables, "--role", "web") as web:
            new_owner(variables).create_link(web, slug="abc")
            answered = [web.get("/c/abc").click_id for _ in range(3)]
            assert web.get("/readyz").status == 200
        assert client.xlen("journal") > 0
        assert database["clicks"].count_documents({}) == 0
        with drain(variables) as process:
            until(lambda: client.xlen("journal") == 0)
            assert {str(row["_id"]) for row in database["clicks"].find()} == set(answered)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PROCESS_PATIENCE_SECONDS) == 0
        assert not client.exists(keys.drain_number_lease(0))


def test_web_shows_the_counts_of_drains(settings: Settings) -> None:
    variables = environment(settings)
    with running(variables, "--role", "web") as web:
        new_owner(variables).create_link(web, slug="abc")
        for _ in range(3):
            web.get("/c/abc")
        with drain(variables) as process:
            until(lambda: counted(web, 'tracker_fleet_drained_total{kind="click"}') == 3)
            web.get("/c/abc")
            until(lambda: counted(web, "tracker_journal_entries") == 0)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PROCESS_PATIENCE_SECONDS) == 0
        # A drain publishes its last counts when it stops.
        assert counted(web, 'tracker_fleet_drained_total{kind="click"}') == 4
        assert counted(web, 'tracker_drained_total{kind="click"}') == 0


def counted(service: Service, series: str) -> float:
    """Return the value of a series in `/metrics`, 0 if it is missing."""
    lines = service.get("/metrics").body.decode().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(f"{series} ")), 0)


def test_another_drain_continues_the_work_of_a_killed_one(
    settings: Settings, database: Rows
) -> None:
    variables = environment(settings)
    with (
        running(variables, "--role", "web") as web,
        redis.Redis.from_url(settings.redis_url) as client,
    ):
        new_owner(variables).create_link(web, slug="abc")
        with drain(variables) as first:
            web.get("/c/abc")
            until(lambda: database["clicks"].count_documents({}) == 1)
            first.kill()
        for _ in range(5):
            web.get("/c/abc")
        with drain(variables):
            until(lambda: client.xlen("journal") == 0)
    assert database["clicks"].count_documents({}) == 6
    rollups = database["rollups"].find({"_id.of": "account"})
    assert sum(row["total"]["bots"] for row in rollups) == 6


def test_a_drain_and_its_stores_run_at_normal_priority(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    with drain(environment(DATA_DIR=str(tmp_path))) as process:
        until(lambda: folder.addresses() is not None)
        addresses = folder.addresses()
        assert addresses is not None
        with redis.Redis.from_url(addresses.redis_url) as client:
            until(lambda: bool(client.exists("journal")))  # the drain reads
        pids = [process.pid, *pids_of(addresses)]
        assert [scheduling(pid) for pid in pids] == [scheduling(0)] * 3


def test_web_and_drain_of_a_trial_share_stores_whichever_starts_first(
    settings: Settings, tmp_path: Path
) -> None:
    variables = {**environment(settings), "REDIS_URL": "", "DATA_DIR": str(tmp_path)}
    with drain(variables):
        until(lambda: DataFolder(tmp_path).addresses() is not None)
        with running(variables, "--role", "web") as web:
            until(lambda: web.get("/readyz").json == {"status": "ready"})


def test_an_unknown_role_is_refused() -> None:
    refused = ended(environment(), "run.py", "--role", "none")
    assert refused.returncode == 2
    assert "invalid choice: 'none'" in refused.stderr


def scheduling(pid: int) -> tuple[int, int]:
    """Return the scheduling class and the niceness of a process."""
    return os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid)


def pids_of(addresses: Addresses) -> list[int]:
    """Return the pids of the built-in Redis and mongod."""
    with (
        redis.Redis.from_url(addresses.redis_url) as client,
        MongoClient[dict[str, Any]](addresses.mongodb_uri) as mongod,
    ):
        info: Any = client.info("server")
        return [info["process_id"], mongod.admin.command("serverStatus")["pid"]]
