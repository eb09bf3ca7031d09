"""A program that sends rows until each is answered, and a line that cuts its connections."""

import contextlib
import http.client
import json
import re
import socket
import socketserver
from collections.abc import Iterator, Sequence
from random import Random
from threading import Lock, Thread
from typing import Any, Final, NamedTuple

from tests.system.owner import Owner
from tests.waiting import PROCESS_PATIENCE_SECONDS, until

_WAYS: Final = ("whole", "whole", "never sent", "not answered", "half answered")


class Row(NamedTuple):
    """What is sent under a key of its own."""

    key: str
    path: str
    body: dict[str, Any]


def import_rows(port: int, owner: Owner, rows: Sequence[Row]) -> list[Any]:
    """Send each row until it is answered 200; return the answers."""
    return [_answer(port, owner, row) for row in rows]


def _answer(port: int, owner: Owner, row: Row) -> Any:
    answers: list[Any] = []

    def is_answered() -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            answers.extend(send_once(port, owner, row))
        return bool(answers)

    until(is_answered)
    return answers[0]


def send_once(port: int, owner: Owner, row: Row) -> list[Any]:
    """Send a row; return its answer in a list, which is empty if that was 503."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PROCESS_PATIENCE_SECONDS)
    headers = {"Authorization": f"Bearer {owner.key}", "Idempotency-Key": row.key}
    sent = headers | {"Content-Type": "application/json", "Connection": "close"}
    with contextlib.closing(connection):
        connection.request("POST", row.path, json.dumps(row.body), sent)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status in (200, 503), body  # the second: its first request was cut just now
        return [json.loads(body)] if answer.status == 200 else []


class CuttingLine(socketserver.ThreadingTCPServer):
    """A line to a service at `target` that cuts connections before, behind and amid answers."""

    daemon_threads = True

    def __init__(self, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.port: int = self.server_address[1]
        self.target = 0
        self.cut = self.passed = 0
        self._random = Random(seed)
        self._lock = Lock()

    def has_passed(self, requests: int) -> bool:
        return self.passed >= requests

    def way(self) -> str:
        with self._lock:
            way = self._random.choice(_WAYS)
            self.passed += 1
            self.cut += way != "whole"
            return way


class _Passing(socketserver.BaseRequestHandler):
    server: CuttingLine

    def handle(self) -> None:
        way = self.server.way()
        with contextlib.suppress(OSError):
            request = _request(self.request)
            if way == "never sent":
                return
            with socket.create_connection(("127.0.0.1", self.server.target)) as service:
                service.sendall(request)
                answer = _rest(service)
            if way != "not answered":
                self.request.sendall(answer[:-9] if way == "half answered" else answer)


def _request(connection: socket.socket) -> bytes:
    """Return a whole request, whose body has a length."""
    received = b""
    while piece := connection.recv(1 << 16):
        received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length and b"\r\n\r\n" in received and len(body) >= int(length[1]):
            break
    return received


def _rest(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


@contextlib.contextmanager
def cutting_line(seed: int) -> Iterator[CuttingLine]:
    with CuttingLine(seed) as line:
        thread = Thread(target=line.serve_forever, daemon=True)
        thread.start()
        try:
            yield line
        finally:
            line.shutdown()
            thread.join()
