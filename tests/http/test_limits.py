"""Connections are counted when they are accepted, in total and for each address."""

import asyncio
import socket
from pathlib import Path

import pytest
import trustme

from tests.http.certificates import APPLICATION, issue, trusting
from tests.http.serving import client_of, get, post, serving
from tests.waiting import PATIENCE_SECONDS, eventually
from tracker import metrics
from tracker.http.limits import Admission, Limits
from tracker.http.tls import server_context
from tracker.limits.network import network_of


def refused(reason: str) -> float:
    return float(metrics.CONNECTIONS_REFUSED.labels(reason)._value.get())


class Strangers:
    """Connections that send nothing, of any address of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[socket.socket] = []

    async def come(self, count: int, address: str = "127.0.0.1") -> list[socket.socket]:
        loop = asyncio.get_running_loop()
        came = []
        for _ in range(count):
            one = socket.socket()
            one.setblocking(False)
            one.bind((address, 0))
            await loop.sock_connect(one, ("127.0.0.1", self._port))
            came.append(one)
        self._open += came
        return came

    def go(self) -> None:
        for one in self._open:
            one.close()


async def is_closed(one: socket.socket) -> bool:
    async with asyncio.timeout(PATIENCE_SECONDS):
        try:
            return await asyncio.get_running_loop().sock_recv(one, 1) == b""
        except ConnectionResetError:
            return True


def test_each_network_has_a_limit_and_a_closed_connection_makes_room() -> None:
    admission = Admission(5, 2, network_of)
    assert [admission.admit("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert [admission.admit(f"2001:db8::{n}") for n in range(3)] == [True, True, False]
    assert [admission.admit(f"192.0.2.{n}") for n in (2, 3)] == [True, False]
    admission.release("2001:db8::1")
    assert admission.admit("2001:db8::9")
    admission.release("192.0.2.1")
    assert not admission.admit("2001:db8::9")
    assert admission.admit("192.0.2.1")


def test_a_peer_without_a_limit_is_counted_in_the_total_only() -> None:
    admission = Admission(3, 1, lambda peer: "")
    assert [admission.admit("192.0.2.1") for _ in range(4)] == [True, True, True, False]
    admission.release("192.0.2.1")
    assert admission.admit("192.0.2.1")


@pytest.mark.parametrize("tls", [False, True])
async def test_an_address_beyond_its_limit_is_refused_and_others_are_answered(
    tmp_path: Path, tls: bool
) -> None:
    authority = trustme.CA()
    context = server_context(*issue(authority, tmp_path)) if tls else None
    before = refused("address")
    async with serving(APPLICATION, tls=context, admission=Admission(100, 5)) as (server, port):
        strangers = Strangers(port)
        kept = await strangers.come(5, "127.0.0.2")
        await eventually(lambda: server.connections == 5)
        for one in await strangers.come(3, "127.0.0.2"):
            assert await is_closed(one)
        assert refused("address") == before + 3
        assert server.connections == 5
        async with client_of(port, trusting(authority) if tls else None) as client:
            client.send(get())
            assert (await client.answer()).status == 200
        kept[0].close()
        await eventually(lambda: server.connections == 4)
        await strangers.come(1, "127.0.0.2")
        await eventually(lambda: server.connections == 5)
        strangers.go()


async def test_handshakes_that_never_complete_are_counted_and_end_in_time(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = server_context(*issue(authority, tmp_path))
    before = refused("total")
    files = open_files()
    limits, admission = Limits(head_seconds=3.0), Admission(20)
    async with serving(APPLICATION, limits, tls=context, admission=admission) as (server, port):
        strangers = Strangers(port)
        came = await strangers.come(20)
        await eventually(lambda: server.connections == 20)
        (one_more,) = await strangers.come(1)
        assert await is_closed(one_more)
        assert refused("total") == before + 1
        for one in came:
            assert await is_closed(one)
        await eventually(lambda: server.connections == 0)
        strangers.go()
        async with client_of(port, trusting(authority)) as client:
            client.send(get() + post(b"x"))
            assert [(await client.answer()).status for _ in range(2)] == [200, 200]
    await eventually(lambda: open_files() <= files)


async def test_a_handshake_begins_only_after_the_clients_first_byte(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = server_context(*issue(authority, tmp_path))
    async with serving(APPLICATION, tls=context, admission=Admission(20)) as (server, port):
        strangers = Strangers(port)
        await strangers.come(3)
        await eventually(lambda: server.connections == 3)
        async with client_of(port, trusting(authority)) as client:
            client.send(get())
            assert (await client.answer()).status == 200
        assert context.session_stats()["accept"] == 1
        strangers.go()
        await eventually(lambda: server.connections == 0)
        assert context.session_stats()["accept"] == 1


async def test_a_stop_cuts_handshakes_in_progress(tmp_path: Path) -> None:
    context = server_context(*issue(trustme.CA(), tmp_path))
    async with serving(APPLICATION, tls=context, admission=Admission(20)) as (server, port):
        strangers = Strangers(port)
        came = await strangers.come(3)
        await eventually(lambda: server.connections == 3)
        server.stop()
        await server.finish(0.1, 0)
        assert server.connections == 0
        for one in came:
            assert await is_closed(one)
        strangers.go()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
