"""A recording application and transport for tests of the server, and the outcomes of requests."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tornado.web import Application, RequestHandler

from tracker.http.connection import Connection
from tracker.http.limits import Limits
from tracker.http.server_state import ServerState

LIMITS = Limits(target_bytes=100, head_bytes=1000, fields=10, body_bytes=1000, waiting_bytes=2000)


class Seen(NamedTuple):
    """A request as its handler saw it."""

    method: str
    target: str
    host: str
    body: bytes


class Outcome(NamedTuple):
    """The outcome of one connection: the statuses of its answers, whether it was kept, and the
    requests that handlers saw."""

    statuses: tuple[int, ...]
    kept: bool
    seen: tuple[Seen, ...]


class _Record(RequestHandler):
    def prepare(self) -> None:
        request = self.request
        self.settings["seen"].append(
            Seen(request.method or "", request.uri or "", request.host, request.body)
        )
        self.finish(request.uri)


def recording_application() -> tuple[Application, list[Seen]]:
    seen: list[Seen] = []
    application = Application([(r".*", _Record)], log_function=lambda handler: None, seen=seen)
    return application, seen


def render(status: int, reason: str) -> tuple[str, bytes]:
    return "text/plain", reason.encode()


class Transport(asyncio.Transport):
    """A transport that keeps what is written until it ends; `end` says how it ended."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.end = ""
        self.reading = True
        self.writes = 0
        self.pause_at = 10**9
        self.protocol: asyncio.Protocol | None = None

    def write(self, data: Any) -> None:
        """Keep `data`, and pause `protocol` once `pause_at` bytes are written."""
        if not self.ended:
            self.written += bytes(data)
            self.writes += 1
        if self.protocol is not None and len(self.written) > self.pause_at:
            self.protocol.pause_writing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return True

    @property
    def ended(self) -> bool:
        return self.end != ""

    def write_eof(self) -> None:
        self.end = self.end or "half-closed"

    def close(self) -> None:
        self.end = "closed"

    def abort(self) -> None:
        self.end = "aborted"

    def is_closing(self) -> bool:
        return self.end in ("closed", "aborted")

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


_STATUS = re.compile(rb"HTTP/1\.1 ([0-9]{3}) [^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n")
_LENGTH = re.compile(rb"\r\nContent-Length: ([0-9]+)\r\n")


def answers_of(written: bytes, methods: Sequence[str]) -> list[tuple[int, bytes]]:
    """Return status and body of each answer, all of which must be complete.

    `methods` are those of the answered requests: answers to HEAD have no body, nor do rejections of
    it.
    """
    answers: list[tuple[int, bytes]] = []
    final = 0
    while written:
        match = _STATUS.match(written)
        assert match, f"no answer: {written!r}"
        status, length = int(match[1]), _LENGTH.search(match[0])
        written = written[match.end() :]
        head_only = final < len(methods) and methods[final] == "HEAD"
        final += status >= 200
        refused = final > len(methods) and not written
        size = int(length[1]) if length and not head_only and not refused else 0
        assert len(written) >= size, "the answer is cut"
        answers.append((status, written[:size]))
        written = written[size:]
    return answers


def statuses_of(written: bytes, methods: Sequence[str]) -> tuple[int, ...]:
    """Return the status of each answer, as `answers_of` reads them."""
    return tuple(status for status, _ in answers_of(written, methods))


async def turns(count: int = 4) -> None:
    """Give the event loop `count` turns: a handler takes one, its answer another."""
    for _ in range(count):
        await asyncio.sleep(0)


async def outcome_of_parts(parts: Sequence[bytes], limits: Limits = LIMITS) -> Outcome:
    """Return the outcome of `parts` that arrive one after the other."""
    application, seen = recording_application()
    protocol = Connection(ServerState(application, render, limits, None))
    transport = Transport()
    protocol.connection_made(transport)
    for part in parts:
        protocol.data_received(part)
        await turns()
    await turns(4 * b"".join(parts).count(b"HTTP/"))
    written, kept = transport.written, not transport.ended
    protocol.connection_lost(None)
    return Outcome(statuses_of(written, [one.method for one in seen]), kept, tuple(seen))
