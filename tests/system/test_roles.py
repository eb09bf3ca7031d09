"""The roles of `run.py`: web answers and does not drain, drain drains and does not answer."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from config.settings import Settings
from tests.system.conftest import Rows
from tests.system.owner import new_owner
from tests.system.service import environment, running, until
from tests.test_import_order import ROOT
from tracker.db.data_folder import DataFolder


def test_what_web_has_recorded_waits_for_a_drain(settings: Settings, database: Rows) -> None:
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
            assert process.wait(20) == 0
        assert not client.keys("slot:*")


def test_a_drain_that_is_killed_in_the_middle_is_replaced_by_another(
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
            until(lambda: client.xlen("journal") == 0, seconds=60)
    assert database["clicks"].count_documents({}) == 6
    slots = database["rollups"].find({"_id.of": "account"})
    assert sum(row["total"]["bots"] for row in slots) == 6


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="no such class of processes here")
def test_a_drain_gives_way_and_the_redis_that_it_starts_does_not(tmp_path: Path) -> None:
    usual, folder = os.sched_getscheduler(0), DataFolder(tmp_path)
    with drain(environment(DATA_DIR=str(tmp_path))) as process:
        until(lambda: folder.addresses() is not None, seconds=60)
        until(lambda: os.sched_getscheduler(process.pid) == os.SCHED_IDLE)
        addresses = folder.addresses()
        assert addresses is not None
        with redis.Redis.from_url(addresses.redis_url) as client:
            info: Any = client.info("server")
        assert os.sched_getscheduler(info["process_id"]) == usual


def test_an_unknown_role_is_refused() -> None:
    ended = subprocess.run(
        [sys.executable, "run.py", "--role", "none"], cwd=ROOT, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "invalid choice: 'none'" in ended.stderr


@contextmanager
def drain(variables: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "run.py", "--role", "drain"], cwd=ROOT, env=dict(variables)
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(25)
