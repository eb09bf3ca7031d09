"""Bodies and connections end in time, as their transport sees it."""

import asyncio

from tests.http.exchange_record import LIMITS, Transport, recording_application, render, turns
from tests.http.serving import get, post
from tests.waiting import eventually
from tracker.http.connection import Connection
from tracker.http.discarding import TURN_SECONDS
from tracker.http.server_state import ServerState


def connected() -> tuple[Connection, Transport, ServerState]:
    application, _ = recording_application()
    state = ServerState(application, render, LIMITS, None)
    protocol, transport = Connection(state), Transport()
    protocol.connection_made(transport)
    return protocol, transport, state


async def test_a_body_of_thousands_of_chunks_ends_without_further_data() -> None:
    protocol, transport, _ = connected()
    head = get(fields="Transfer-Encoding: chunked\r\n", method="POST")
    protocol.data_received(head + b"1\r\nx\r\n" * 1000 + b"0\r\n\r\n")
    assert transport.written == b""
    await turns(20)
    assert transport.written.startswith(b"HTTP/1.1 200 ")


async def test_bytes_after_a_rejection_are_read_and_dropped() -> None:
    protocol, transport, _ = connected()
    protocol.data_received(post(b"x" * 1001)[:-1001])
    assert transport.end == "half-closed"
    written = transport.written
    protocol.data_received(b"x" * 1001 + get())
    await turns()
    assert (transport.end, transport.written) == ("half-closed", written)
    assert protocol.eof_received() is False


async def test_only_a_limited_number_of_bytes_is_read_and_dropped() -> None:
    protocol, transport, state = connected()
    protocol.data_received(post(b"x" * 1001)[:-1001])
    protocol.data_received(b"x" * LIMITS.linger_bytes)
    assert not transport.reading
    await eventually(lambda: transport.reading)
    protocol.data_received(b"x")
    assert (transport.end, transport.reading) == ("half-closed", False)
    await asyncio.sleep(2 * TURN_SECONDS)
    assert not transport.reading
    state.now += LIMITS.linger_seconds + 2 * LIMITS.sweep_seconds
    protocol.check()
    assert transport.end == "aborted"


async def test_bytes_after_the_last_request_are_read_and_dropped() -> None:
    protocol, transport, _ = connected()
    protocol.data_received(get(fields="Connection: close\r\n") + get())
    await turns()
    assert transport.end == "half-closed"


async def test_paused_reading_resumes_when_a_connection_ends() -> None:
    protocol, transport, _ = connected()
    protocol.data_received(get(fields="Connection: close\r\n") + get() * 100)
    assert not transport.reading
    await turns()
    assert (transport.end, transport.reading) == ("half-closed", True)


async def test_a_client_that_never_ends_its_side_is_cut() -> None:
    protocol, transport, state = connected()
    protocol.data_received(b"nonsense\r\n\r\n")
    state.now += LIMITS.linger_seconds
    protocol.check()
    assert transport.end == "half-closed"
    state.now += 2 * LIMITS.sweep_seconds
    protocol.check()
    assert transport.end == "aborted"


async def test_time_limits_never_expire_early() -> None:
    _, _, state = connected()
    noted = state.now
    # A noted time may be as old as a sweep, and no older.
    state.now = noted + 5 + state.sweep_seconds
    assert not state.expired(noted, 5)
    state.now += 0.001
    assert state.expired(noted, 5)
