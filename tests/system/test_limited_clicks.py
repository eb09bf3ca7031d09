"""A limit of clicks is exact under load, though a web process and Redis are killed."""

import http.client
import os
import signal
import threading
from pathlib import Path

import redis

from config.settings import Settings
from tests.factories import CHROME
from tests.stores.redis.own_redis import own_redis
from tests.system.conftest import Rows
from tests.system.owner import new_owner
from tests.system.processes import drain, processes
from tests.system.service import Client, Service, environment, running
from tests.waiting import until

LIMIT = 1_000
VISITORS = 64


def visit_until_used_up(service: Service, answered: list[str], turned_away: list[int]) -> None:
    """Open the link again and again; add each answered click id to `answered`."""
    client = Client(service.port)
    while True:
        try:
            answer = client("GET", "/c/limited", headers={"User-Agent": CHROME})
        except (OSError, http.client.HTTPException):  # a process was killed, as the test wants
            client.close()
            client = Client(service.port)
            continue
        if answer.status == 302:
            answered.append(answer.click_id)
        elif answer.status == 404:
            turned_away.append(answer.status)
            break
        else:
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    client.close()


def test_exactly_so_many_visitors_pass_a_limit_though_web_processes_and_redis_are_killed(
    settings: Settings, database: Rows, tmp_path: Path
) -> None:
    answered: list[str] = []
    turned_away: list[int] = []
    with own_redis(tmp_path / "own") as server:
        variables = environment(settings, REDIS_URL=server.url, WEB_CONCURRENCY="4")
        with running(variables, "--role", "web") as web, drain(variables):
            until(lambda: len(processes(web)) == 4)
            new_owner(variables).create_link(web, slug="limited", max_clicks=LIMIT)
            given = web, answered, turned_away
            visitors = [
                threading.Thread(target=visit_until_used_up, args=given) for _ in range(VISITORS)
            ]
            for visitor in visitors:
                visitor.start()
            until(lambda: len(answered) > LIMIT // 5)
            os.kill(processes(web)[0], signal.SIGKILL)
            until(lambda: len(answered) > LIMIT // 2)
            server.kill()
            server.start()
            for visitor in visitors:
                visitor.join()
            with redis.Redis.from_url(server.url) as client:
                until(lambda: client.xlen("journal") == 0)
    stored = {str(row["_id"]) for row in database["clicks"].find({}, ["_id"])}
    assert len(stored) == LIMIT
    assert set(answered) <= stored
    assert len(turned_away) == VISITORS
