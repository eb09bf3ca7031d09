"""A log that nobody reads loses lines, but does not stop the service."""

import os
import re
import socket

import pytest

from config.settings import Settings
from tests.system.service import Service, environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS

REQUESTS = 6_000
GROUP = 50
PATH = "/c/" + "x" * 900  # no link can have it: answered without asking a store


def ask(service: Service, count: int) -> None:
    """Send requests in groups on one connection, and check that each is answered."""
    request = f"GET {PATH} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    with socket.create_connection(
        ("127.0.0.1", service.port), timeout=PROCESS_PATIENCE_SECONDS
    ) as connection:
        for _ in range(count // GROUP):
            connection.sendall(request * GROUP)
            answered = b""
            while answered.count(b"no such link") + answered.count(b'{"error"') < GROUP:
                piece = connection.recv(65536)
                assert piece
                answered += piece


def dropped(service: Service) -> float:
    match = re.search(
        r"^tracker_log_lines_dropped_total (\S+)", service.get("/metrics").body.decode(), re.M
    )
    return float(match[1]) if match else 0.0


@pytest.mark.parametrize("processes", ["1", "2"])
def test_an_unread_log_does_not_stop_the_service(settings: Settings, processes: str) -> None:
    variables = environment(settings, LOG_LEVEL="info", WEB_CONCURRENCY=processes)
    reading, writing = os.pipe()
    with (
        os.fdopen(reading),
        os.fdopen(writing, "w") as errors,
        running(variables, errors=errors) as service,
    ):
        while not dropped(service):
            ask(service, REQUESTS)
        assert service.get("/healthz").status == 200
        assert service.stop() == 0
