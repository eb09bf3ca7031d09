"""The roles of `run.py`: web answers and does not drain, drain drains and does not answer."""

import signal
from pathlib import Path

import redis

from config.settings import Settings
from tests.system.conftest import Rows
from tests.system.owner import new_owner
from tests.system.processes import drain
from tests.system.service import environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until
from tracker.stores.builtin.data_folder import DataFolder
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


def test_web_and_drain_of_a_trial_share_stores_whichever_starts_first(
    settings: Settings, tmp_path: Path
) -> None:
    variables = {**environment(settings), "REDIS_URL": "", "DATA_DIR": str(tmp_path)}
    with drain(variables):
        until(lambda: DataFolder(tmp_path).addresses() is not None)
        with running(variables, "--role", "web") as web:
            until(lambda: web.get("/readyz").json == {"status": "ready"})
