"""WEB_CONCURRENCY=2: two workers on one port that serve and stop as one service."""

import errno
import http.client
import os
import re
import signal
import socket
import threading
from pathlib import Path
from uuid import UUID

import pytest
import redis

from config.settings import Settings
from tests.suspended import suspended
from tests.system.conftest import Rows
from tests.system.owner import new_owner
from tests.system.processes import ask_each, check_both_ready, processes
from tests.system.service import Service, environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until

CONVERSION = (
    b"POST /api/event HTTP/1.1\r\nHost: tracker.test\r\nExpect: 100-continue\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\n"
)
GONE = (OSError, http.client.HTTPException)


def two(settings: Settings | None = None, **variables: str) -> dict[str, str]:
    return environment(settings, WEB_CONCURRENCY="2", **variables)


def kill_and_await_replacement(service: Service, pid: int) -> int:
    """Kill a worker; return the pid of its replacement."""
    before = processes(service)
    os.kill(pid, signal.SIGKILL)
    until(lambda: len(set(processes(service)) - set(before)) == 1)
    return (set(processes(service)) - set(before)).pop()


def health_requests(service: Service) -> int:
    """Return the answered requests for `/healthz` that `/metrics` shows."""
    metrics = service.get("/metrics").body.decode()
    answered = r'^tracker_requests_total\{.*"/healthz",status="200"\} (\S+)$'
    [line] = re.findall(answered, metrics, re.MULTILINE)
    return int(float(line))


class Visitors:
    """Visitors that keep opening a path, on new connections if one breaks, and keep the answers."""

    def __init__(self, service: Service, path: str, count: int = 4) -> None:
        self.answered: list[str] = []
        self.refused: list[str] = []
        self.broken = 0
        self._service = service
        self._path = path
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._visit) for _ in range(count)]

    def __enter__(self) -> "Visitors":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, number: int) -> None:
        """Wait for `number` more answers."""
        goal = len(self.answered) + number
        until(lambda: len(self.answered) >= goal)

    def _visit(self) -> None:
        while not self._stop.is_set():
            try:
                with self._service.client() as client:
                    while not self._stop.is_set():
                        self.answered.append(client("GET", self._path).click_id)
            except ConnectionRefusedError as error:
                self.refused.append(str(error))
                self._stop.wait(0.05)
            except GONE:
                self.broken += 1


def test_both_workers_answer_on_one_port_and_only_the_first_drains_and_prints(
    settings: Settings, database: Rows
) -> None:
    variables = two(settings)
    with running(variables) as service, redis.Redis.from_url(settings.redis_url) as client:
        new_owner(variables).create_link(service, slug="both")
        first, _ = check_both_ready(service)
        answered = ask_each(service, lambda: service.get("/c/both").click_id)
        until(lambda: database["clicks"].count_documents({}) == 2)
        assert {str(row["_id"]) for row in database["clicks"].find()} == set(answered)
        [consumer] = client.xinfo_consumers("journal", "drain")
        assert f"-{first}-" in consumer["name"].decode()
        assert service.stop() == 0
        assert "answers at" not in service.printed()


@pytest.mark.parametrize("number", [0, 1])
def test_a_killed_worker_is_replaced_while_visitors_are_served_and_nothing_is_lost(
    settings: Settings, database: Rows, number: int
) -> None:
    variables = two(settings)
    with running(variables) as service:
        new_owner(variables).create_link(service, slug="busy")
        pids = check_both_ready(service)
        with Visitors(service, "/c/busy") as visitors:
            visitors.wait_for(200)
            pids[number] = kill_and_await_replacement(service, pids[number])
            visitors.wait_for(200)
        # The replacement answers too.
        until(lambda: answers_alone(service, pids[number], pids[1 - number]))
        assert visitors.refused == []
        goal = len(visitors.answered)
        # Entries that a dead drain had read are reclaimed ten seconds later.
        until(lambda: database["clicks"].count_documents({}) >= goal)
        assert service.stop() == 0
        assert "answers at" not in service.printed()
    stored = {row["_id"] for row in database["clicks"].find({}, ["_id"])}
    assert set(map(UUID, visitors.answered)) <= stored
    assert len(set(visitors.answered)) == goal


def answers_alone(service: Service, awake: int, asleep: int) -> bool:
    """Return whether a worker answers while the other is suspended; it may still be starting."""
    with suspended(asleep):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=0.5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except GONE:
            return False
        finally:
            connection.close()


def test_an_interrupt_stops_all_with_every_answered_click_durable(
    settings: Settings, database: Rows
) -> None:
    variables = two(settings)
    with running(variables) as service:
        new_owner(variables).create_link(service, slug="busy")
        pids = check_both_ready(service)
        with Visitors(service, "/c/busy") as visitors:
            visitors.wait_for(300)
            assert service.stop(signal.SIGINT) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    with running(variables), redis.Redis.from_url(settings.redis_url) as client:
        until(lambda: client.xlen("journal") == 0)
    stored = {row["_id"] for row in database["clicks"].find({}, ["_id"])}
    assert set(map(UUID, visitors.answered)) <= stored


def test_during_a_stop_new_clients_are_refused_and_do_not_wait(settings: Settings) -> None:
    with running(two(settings)) as service:
        check_both_ready(service)
        with socket.create_connection(
            ("127.0.0.1", service.port), timeout=PROCESS_PATIENCE_SECONDS
        ) as unfinished:
            unfinished.sendall(CONVERSION)
            assert unfinished.recv(1000).startswith(b"HTTP/1.1 100 ")
            service.process.send_signal(signal.SIGTERM)
            until(lambda: refuses(service))
            assert service.process.poll() is None
            unfinished.sendall(b"pbk=x")
            assert unfinished.recv(1000).startswith(b"HTTP/1.1 404 ")
        assert service.process.wait(PROCESS_PATIENCE_SECONDS) == 0


def refuses(service: Service) -> bool:
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", service.port)) == errno.ECONNREFUSED


def test_a_replacement_reconnects_to_the_built_in_stores(tmp_path: Path) -> None:
    variables = two(DATA_DIR=str(tmp_path))
    with running(variables) as service:
        pids = check_both_ready(service)
        for number in (1, 0):
            pids[number] = kill_and_await_replacement(service, pids[number])
            other = pids[1 - number]
            until(lambda: answers_alone(service, pids[number], other))  # noqa: B023
            with suspended(other):
                assert service.get("/c/demo").status == 302
        assert service.get("/readyz").status == 200
        assert service.stop() == 0
    with running(variables) as again:
        assert again.get("/c/demo").status == 302


def test_each_worker_shows_the_counts_of_all_including_dead_ones(settings: Settings) -> None:
    with running(two(settings)) as service:
        pids = check_both_ready(service)
        # A request is counted after its answer, so perhaps only when the worker continues.
        until(lambda: ask_each(service, lambda: health_requests(service)) == [2, 2])
        pids[1] = kill_and_await_replacement(service, pids[1])
        until(lambda: answers_alone(service, pids[1], pids[0]))
        assert ask_each(service, lambda: health_requests(service)) == [2, 2]
