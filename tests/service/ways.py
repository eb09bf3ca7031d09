"""Two servers on the same services, one with the fast path and one without, and a comparison of
their answers and records that leaves out only what differs between any two requests."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple
from uuid import UUID

import msgspec
from tornado.netutil import bind_sockets

from tests.waiting import PATIENCE_SECONDS
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion, Correction
from tracker.http.fast_path import FastPathConnection
from tracker.http.server import Server
from tracker.ingest.record import Record
from tracker.journal.overflow import Overflow
from tracker.metrics import REQUESTS
from tracker.service.app import make_app
from tracker.service.hot_page_clicks import AllHotRequests
from tracker.service.http_servers import LIMITS, render_rejection
from tracker.service.services import Services

WAY = "WAY0"
"""A placeholder in requests for the name of the way: a transaction id is recorded only once."""

_DATE = re.compile(rb"(?<=\r\nDate: )[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
_REQUEST_ID = re.compile(rb"(?<=\r\nX-Request-Id: )[0-9a-f]{32}(?=\r\n)")
_MOMENT = re.compile(rb"\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d\.\d{3}Z")
_CLICK_ID = re.compile(
    rb"(?:\r\nLocation: [^\r\n]*[?&](?:click_id|subid)=|\"click_id\":\")([0-9a-f-]{36})(?:#|\r|\")"
)
_EVENT_ID = re.compile(rb"\r\nX-Event-Id: ([0-9]+)\r\n")
_LENGTH = re.compile(rb"\r\nContent-Length: ([0-9]+)\r\n")
_CLOSES = re.compile(rb"\r\nConnection: close\r\n")


class Sent(NamedTuple):
    """A request. `method` is the one that the server answers."""

    method: str
    raw: bytes


class CountingFastPath:
    """A fast path that counts `offered` and `taken` requests by method and start of the path."""

    def __init__(self, services: Services) -> None:
        self._fast_path = AllHotRequests(services)
        self.offered: Counter[str] = Counter()
        self.taken: Counter[str] = Counter()

    def __call__(self, connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        taken = self._fast_path(connection, data, start, end)
        kind = _kind(data[start : start + 100])
        self.offered[kind] += 1
        self.taken[kind] += taken
        return taken


def _kind(line: bytes) -> str:
    match = re.match(rb"(GET|HEAD|POST) (/c/|/api/click|/api/event|/)", line)
    return b" ".join(match.groups()).decode() if match else "other"


class Way:
    """A client of one server that keeps its connection open while the server allows it."""

    def __init__(self, name: str, port: int) -> None:
        assert len(name) == len(WAY)
        self._name = name
        self._port = port
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._numbers: dict[str, str] = {}

    async def answers(self, sent: Sequence[Sent]) -> list[bytes]:
        """Send requests at once, and return their answers; fewer if the connection ended."""
        if self._connection is None:
            self._connection = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._connection
        raw = b"".join(one.raw for one in sent)
        writer.write(raw.replace(WAY.encode(), self._name.encode()))
        answers = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            for one in sent:
                answers.append(self._comparable(await _answer(reader, one.method)))
                if _CLOSES.search(answers[-1]):
                    await self.close()
                    break
        return answers

    async def close(self) -> None:
        if self._connection is not None:
            self._connection[1].close()
            await self._connection[1].wait_closed()
            self._connection = None

    def record(self, record: Record) -> Click | Conversion | None:
        """Return `record` without what always differs; None if it is of the other way."""
        assert not isinstance(record, Correction)
        if isinstance(record, Click):
            number = self._numbers.get(str(UUID(bytes=record.id)))
            if number is None:
                return None
            return msgspec.structs.replace(record, id=number.encode(), at=0)
        # No answer has the id of a conversion repeated while only the spool was available.
        number = self._numbers.get(str(record.id))
        transaction_id = record.transaction_id or ""
        if number is None and self._name not in transaction_id:
            return None
        return msgspec.structs.replace(
            record,
            id=-1 if number is None else int(number[1:]),
            at=0,
            transaction_id=record.transaction_id and transaction_id.replace(self._name, WAY),
        )

    def _comparable(self, answer: bytes) -> bytes:
        """Replace ids of clicks and events by the order of their first answers."""
        answer = _DATE.sub(b"-", answer)
        answer = _REQUEST_ID.sub(b"-", answer)
        answer = _MOMENT.sub(b"-", answer)
        if click_id := _CLICK_ID.search(answer):
            answer = answer.replace(click_id[1], self._numbered("c", click_id[1]))
        if event_id := _EVENT_ID.search(answer):
            answer = answer.replace(event_id[1], self._numbered("e", event_id[1]))
        return answer

    def _numbered(self, kind: str, id_: bytes) -> bytes:
        return self._numbers.setdefault(id_.decode(), f"{kind}{len(self._numbers)}").encode()


async def _answer(reader: asyncio.StreamReader, method: str) -> bytes:
    """Read an answer, including a 100 before it; after the last one, everything until the end."""
    interim, head = b"", await reader.readuntil(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 100 "):
        interim, head = head, await reader.readuntil(b"\r\n\r\n")
    if _CLOSES.search(head):
        return interim + head + await reader.read()
    length = _LENGTH.search(head)
    if method == "HEAD" or length is None:
        return interim + head
    return interim + head + await reader.readexactly(int(length[1]))


class Ways(NamedTuple):
    """Two servers on the same services: one with the fast path, one without."""

    fast: Way
    plain: Way
    fast_path: CountingFastPath

    async def compare(self, groups: Sequence[Sequence[Sent]]) -> list[bytes]:
        """Check that both servers answer and count the requests alike, and return the answers.

        The requests of a group are sent at once.
        """
        plain, counted_plain = await _counted(self.plain, groups)
        fast, counted_fast = await _counted(self.fast, groups)
        for group, expected, came in zip(groups, plain, fast, strict=True):
            assert came == expected, group
        assert counted_fast == counted_plain
        return [answer for answers in fast for answer in answers]

    def recorded(self, records: Sequence[Record]) -> list[Click | Conversion]:
        """Check that both servers made the same records, and return those of one."""
        plain, fast = (
            [one for record in records if (one := way.record(record)) is not None]
            for way in (self.plain, self.fast)
        )
        assert fast == plain
        assert len(fast) + len(plain) == len(records)
        return fast


async def _counted(
    way: Way, groups: Sequence[Sequence[Sent]]
) -> tuple[list[list[bytes]], Counter[tuple[str, ...]]]:
    before = _requests()
    answers = [await way.answers(group) for group in groups]
    return answers, _requests() - before


def _requests() -> Counter[tuple[str, ...]]:
    """Return the request counts by route, method and status."""
    return Counter(
        {
            tuple(sample.labels.values()): int(sample.value)
            for metric in REQUESTS.collect()
            for sample in metric.samples
            if sample.name.endswith("_total")
        }
    )


@asynccontextmanager
async def both_ways(services: Services) -> AsyncIterator[Ways]:
    services.journal.journal.overflow = Overflow()  # not the one that is decided for
    fast_path = CountingFastPath(services)
    with_fast_path = Server(make_app(services), render_rejection, LIMITS, fast_path)
    without = Server(make_app(services), render_rejection, LIMITS)
    servers = (with_fast_path, without)
    ports = [await _port(server) for server in servers]
    ways = Ways(Way("fast", ports[0]), Way("hand", ports[1]), fast_path)
    try:
        yield ways
    finally:
        for way in (ways.fast, ways.plain):
            await way.close()
        for server in servers:
            server.stop()
            await server.finish(0, 0)


async def _port(server: Server) -> int:
    sockets = bind_sockets(0, "127.0.0.1")
    await server.listen(sockets)
    port: int = sockets[0].getsockname()[1]
    return port
