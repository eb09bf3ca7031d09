"""The outcome of a request, whatever a real receiver on loopback does."""

import asyncio
import logging
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tornado.platform.asyncio import AsyncIOLoop

from tests.ports import free_port
from tests.waiting import PATIENCE_SECONDS, eventually
from tests.webhooks.receiver import (
    Behaviour,
    Receiver,
    answer,
    endless,
    hang,
    held,
    raw,
    receiving,
    redirect,
    reset,
)
from tests.webhooks.sending.posting import PAYLOAD, request
from tracker.webhooks.delivery import Outcome
from tracker.webhooks.limits import MAX_BODY_BYTES, MAX_HEAD_BYTES
from tracker.webhooks.sending import client as module
from tracker.webhooks.sending.client import WebhookClient

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n"
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Check that no receiver causes a warning or an exception in the log."""
    yield
    logged = caplog.get_records("call")
    assert [one.getMessage() for one in logged if one.levelno >= logging.WARNING] == []


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no attempt end by its timeout but those of `brief`."""
    monkeypatch.setattr(module, "ATTEMPT_SECONDS", 3600.0)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ATTEMPT_SECONDS", 0.5)


async def outcome_of(behaviour: Behaviour) -> tuple[Outcome, Receiver]:
    async with receiving() as receiver:
        receiver.behaviour = behaviour
        client = WebhookClient(allow_private=True, dns_address=None)
        outcome = await asyncio.wait_for(client.send(request(receiver.url)), PATIENCE_SECONDS)
        client.close()
        return outcome, receiver


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_a_payload_arrives_as_it_is_and_its_signature_is_right(method: str) -> None:
    async with receiving() as receiver:
        client = WebhookClient(allow_private=True, dns_address=None)
        outcome = await client.send(request(f"{receiver.url}/a/b?c=d", method))
    assert (outcome.code, outcome.delivered, outcome.error) == (200, True, None)
    [received] = receiver.received
    assert (received.method, received.path, received.query) == (method, "/a/b", "c=d")
    assert (received.body, received.error) == (PAYLOAD, "")
    assert received.headers["webhook-id"] == "msg_0123abcd"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert received.headers["user-agent"] == "tracker-webhooks"


async def test_head_and_body_arrive_together_and_the_client_has_no_body_any_more() -> None:
    pieces: list[bytes] = []
    go_on, written = asyncio.Event(), asyncio.Event()

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces.append(await reader.read(2**16))
        await go_on.wait()
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(behave, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        client = WebhookClient(allow_private=True, dns_address=None)
        sent = request(f"http://127.0.0.1:{port}/", payload=b"x" * 1000)
        body = sent.body
        references = sys.getrefcount(body)
        sending = asyncio.create_task(client.send(sent, written.set))
        await asyncio.wait_for(written.wait(), PATIENCE_SECONDS)
        sent.body = None
        assert sys.getrefcount(body) == references - 1
        go_on.set()
        assert (await sending).code == 204
    assert pieces[0].startswith(b"POST / HTTP/1.1\r\n")
    assert pieces[0].endswith(b"\r\n\r\n" + b"x" * 1000)


async def test_any_2xx_is_a_success() -> None:
    for code in (200, 201, 204, 299, 300, 301, 304, 400, 410, 429, 500, 503, 599):
        answered = f"HTTP/1.1 {code} x\r\nContent-Length: 0\r\n\r\n"
        outcome, _ = await outcome_of(raw(answered.encode()))
        failure = None if code < 300 else f"{code // 100}xx"
        assert (outcome.code, outcome.failure, outcome.error) == (code, failure, None)
        assert outcome.delivered is (failure is None)


async def test_the_first_kilobyte_of_an_answer_is_kept_as_text() -> None:
    outcome, _ = await outcome_of(answer(500, b"\xff\0" + b"x" * 5000))
    assert (outcome.code, outcome.answer) == (500, "\ufffd\0" + "x" * (MAX_BODY_BYTES - 2))


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(code: int) -> None:
    async with receiving() as other:
        outcome, receiver = await outcome_of(redirect(f"{other.url}/there", code))
    assert (outcome.code, outcome.failure) == (code, "3xx")
    assert (len(receiver.received), other.received) == (1, [])


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    "behaviour",
    [
        hang,
        endless(b"HTTP/1.1 200 OK\r\n", b"X", 0.01),
        endless(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n", 0.01),
        endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.1),
    ],
)
async def test_a_receiver_that_does_not_answer_in_time_is_a_timeout(behaviour: Behaviour) -> None:
    outcome, _ = await outcome_of(behaviour)
    assert (outcome.code, outcome.failure) == (None, "timeout")
    assert outcome.error == "timeout: during request"
    assert outcome.milliseconds >= 400


@pytest.mark.parametrize(
    ("head", "chunk"), [(CHUNKED, b"%x\r\n%s\r\n"), (LONG, None), (UNTIL_CLOSE, None)]
)
@pytest.mark.parametrize(
    ("size", "pause", "brief"),
    [(65_536, 0, False), (1, 0.001, False), (1, 0.01, True)],
    ids=["large pieces", "byte by byte", "until the timeout"],
)
async def test_the_code_of_an_endless_answer_counts(
    monkeypatch: pytest.MonkeyPatch,
    head: bytes,
    chunk: bytes | None,
    size: int,
    pause: float,
    brief: bool,
) -> None:
    if brief:
        monkeypatch.setattr(module, "ATTEMPT_SECONDS", 0.5)
    body = b"x" * size
    outcome, receiver = await outcome_of(
        endless(head, chunk % (size, body) if chunk else body, pause)
    )
    assert (outcome.code, outcome.delivered, outcome.error) == (200, True, None)
    assert outcome.answer == "x" * (len(outcome.answer) if size == 1 else MAX_BODY_BYTES)
    assert 0 < len(outcome.answer) <= MAX_BODY_BYTES
    assert receiver.written < 50_000_000  # what the buffers of two sockets may hold, and more


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nX: "])
async def test_a_head_sent_byte_by_byte_is_no_answer(head: bytes) -> None:
    outcome, receiver = await outcome_of(endless(head, b"x", 0.001))
    assert (outcome.code, outcome.failure) == (None, "connection")
    assert receiver.written < MAX_HEAD_BYTES


OK = b"HTTP/1.1 200 OK\r\n"
ACCEPTED = b"HTTP/1.1 202 Accepted\r\n"
HINT = b"HTTP/1.1 103 Early Hints\r\n\r\n"
NO_ANSWERS = [
    *(b"NOPE\r\n\r\n", b"\r\n\r\n", b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 200\r\n\r\n"),
    *("HTTP/1.1 \u0662\u0660\u0660 OK\r\n\r\n".encode(), b"HTTP/1.1 20000 OK\r\n\r\n"),
    *(b"HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n", b"220 smtp.example ESMTP\r\n\r\n"),
    *(OK + b"X: a\0b\r\n\r\n", OK + b" x\r\n\r\n", OK + b"bad name: x\r\n\r\n"),
    *(HINT * 20, OK + b"x" * 9_000, b"\x16\x03\x01\x02\x00" * 20 + b"\r\n\r\n"),
    b"HTTP/1.1 100 x\r\nContent-Length: 1\r\n\r\nx",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
]


@pytest.mark.parametrize(
    "behaviour",
    [
        *(raw(), reset, raw(b"HTTP/1.1 200 O"), raw(OK + b"Content-Length: 3\r\n")),
        *(endless(OK, b"X-A: " + b"x" * 1000 + b"\r\n"), endless(b"", b"x" * 1000)),
        *(endless(b"", HINT), *map(held, NO_ANSWERS)),
    ],
)
async def test_an_invalid_answer_ends_the_attempt_at_once(behaviour: Behaviour) -> None:
    outcome, _ = await outcome_of(behaviour)
    assert (outcome.code, outcome.failure, outcome.answer) == (None, "connection", "")
    assert len(outcome.error or "") < 100


BROKEN_BODIES = [
    *(b"Content-Length: 3, 4\r\n\r\nabc", b"Content-Length: -1\r\n\r\nabc"),
    *(
        b"Transfer-Encoding: chunked\r\n\r\n" + chunk
        for chunk in (
            *(b"1;" + b"x" * 100 + b"\r\nx\r\n0\r\n\r\n", b"1" * 200, b"3\r\nabcdef\r\n"),
            *(b"1;a=b\r\nx\r\n0\r\n\r\n", b"zz\r\nabc\r\n", b"-1\r\nabc\r\n", b"\r\nabc\r\n"),
            *(b"\xff\r\nabc\r\n", b"f" * 60 + b"\r\nabc\r\n", b"1\r\nxyz\r\n"),
            b"1\r\nx\r\n0\r\nA: b\r\n\r\n",
        )
    ),
]


ENDED_BODIES = [
    b"Content-Length: 100\r\n\r\nabc",
    b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    b"Content-Encoding: gzip\r\n\r\nabc",
]


@pytest.mark.parametrize(
    "behaviour",
    [
        *(raw(ACCEPTED + body) for body in (*BROKEN_BODIES, *ENDED_BODIES)),
        *(held(ACCEPTED + body) for body in BROKEN_BODIES),
    ],
)
async def test_a_code_counts_although_its_body_is_broken(behaviour: Behaviour) -> None:
    outcome, _ = await outcome_of(behaviour)
    assert (outcome.code, outcome.error) == (202, None)


async def test_the_last_of_several_heads_is_the_answer() -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nRetry-After: 7\r\n\r\n"
    outcome, _ = await outcome_of(
        raw(hints, hints, b"HTTP/1.1 500 x\r\nRetry-After: 9 \r\nContent-Length: 0\r\n\r\n")
    )
    assert (outcome.code, outcome.retry_after) == (500, "9")


async def test_a_refused_connection_is_a_failure_of_the_connection() -> None:
    client = WebhookClient(allow_private=True, dns_address=None)
    outcome = await client.send(request(f"http://127.0.0.1:{free_port()}/"))
    assert (outcome.code, outcome.error) == (None, "connection: Connection refused")


@pytest.mark.usefixtures("brief")
async def test_a_request_may_be_cancelled_at_any_time() -> None:
    async with receiving() as receiver:
        receiver.behaviour = hang
        client = WebhookClient(allow_private=True, dns_address=None)
        sending = asyncio.ensure_future(client.send(request(receiver.url)))
        await eventually(lambda: receiver.received)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await receiver.left.wait()


HEADS = st.binary(max_size=40) | st.from_regex(
    rb"HTTP/1\.[01] [0-9]{1,5} [a-z]{0,3}\r?\n"
    rb"(Content-Length: [-,0-9]{1,4}\r\n|Transfer-Encoding: (chunked|x)\r\n|Retry-After: .?\r\n)*"
    rb"(\r\n)?",
    fullmatch=True,
)


PIECES = st.sampled_from([b"\r\n\r\n", b"1\r\nx\r\n", b"0\r\n\r\n", CHUNKED])
CHUNKS = st.from_regex(rb"[0-9a-f]{0,70}(;[a-z=]{0,70})?(\r\n)?", fullmatch=True)


@given(st.lists(HEADS | PIECES | CHUNKS, max_size=4))
def test_any_bytes_of_a_receiver_lead_to_an_outcome(
    io_loop: AsyncIOLoop, pieces: list[bytes]
) -> None:
    outcome, _ = io_loop.run_sync(lambda: outcome_of(raw(b"".join(pieces))))
    assert (outcome.code is None) == (outcome.error is not None)
    assert outcome.code is None or 200 <= outcome.code <= 599
    assert outcome.failure in (None, "3xx", "4xx", "5xx", "connection")


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        outcome, receiver = await outcome_of(answer())
    assert outcome.delivered
    assert (len(receiver.received), proxy.received) == (1, [])
