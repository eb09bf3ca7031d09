"""Answered clicks are never lost or counted twice: the service is killed, or told to stop."""

import threading
import time
from uuid import UUID

import redis

from config.settings import Settings
from tests.system.conftest import Rows
from tests.system.owner import new_owner
from tests.system.service import Service, environment, running
from tests.waiting import until
from tracker.service.http_servers import QUIET_SECONDS

BURST = 400
VISITORS = 4


def burst(service: Service, path: str, each: int, answered: list[str]) -> None:
    """Open `path` from several connections; add each answered click id to `answered`."""

    def visit() -> None:
        try:
            with service.client() as client:
                for _ in range(each):
                    answered.append(client("GET", path).click_id)  # noqa: PERF401
        except (OSError, KeyError, ValueError):
            return  # the service was killed, as the test wants
        except Exception as error:
            if not type(error).__module__.startswith("http"):
                raise

    visitors = [threading.Thread(target=visit) for _ in range(VISITORS)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()


def stored_clicks(database: Rows) -> list[UUID]:
    return [row["_id"] for row in database["clicks"].find({}, ["_id"])]


def test_clicks_answered_while_the_service_is_killed_are_stored_once(
    settings: Settings, database: Rows
) -> None:
    variables = environment(settings)
    answered: list[str] = []
    with running(variables) as first:
        new_owner(variables).create_link(first, slug="burst")
        visitors = threading.Thread(target=burst, args=(first, "/c/burst", 5000, answered))
        visitors.start()
        until(lambda: len(answered) > BURST)
        first.kill()
        visitors.join()
    with running(variables), redis.Redis.from_url(settings.redis_url) as client:
        until(lambda: client.xlen("journal") == 0)
    assert set(map(UUID, answered)) <= set(stored_clicks(database))


def test_a_stop_answers_requests_already_sent_on_kept_connections(
    settings: Settings,
) -> None:
    variables = environment(settings)
    cut: list[Exception] = []
    busy = threading.Barrier(9)

    def visit(service: Service) -> None:
        with service.client() as client:
            client("GET", "/healthz")
            busy.wait()
            began = time.monotonic()
            while True:
                before, began = began, time.monotonic()
                try:
                    answer = client("GET", "/healthz")
                except Exception as error:
                    # A connection may be closed on a client that was silent for as long.
                    if time.monotonic() - before < QUIET_SECONDS:
                        cut.append(error)
                    return
                if answer.headers.get("connection") == "close":
                    return

    with running(variables) as service:
        clients = [threading.Thread(target=visit, args=(service,)) for _ in range(8)]
        for client in clients:
            client.start()
        busy.wait()
        assert service.stop() == 0
        for client in clients:
            client.join()
    assert cut == []
