"""A program that tries to go beyond loopback in every way it knows. `test_loopback.py` guards it.

    python -m tests.lab.going_beyond <uvloop or asyncio> <folder>

What it tries leads to TEST-NET (RFC 5737), which is nobody's. The attempts of a way are recorded in
a file of `folder` with its name. It prints the ways that did not fail.
"""

import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvloop

from lab.loopback.guard import ATTEMPTS

OUTSIDE, NAME = "192.0.2.1", "name.example"
CONNECT = f"import socket; socket.create_connection(({OUTSIDE!r}, 80))"


def connect() -> None:
    socket.create_connection((OUTSIDE, 80))


def connect_by_ipv6() -> None:
    with socket.socket(socket.AF_INET6) as one:
        one.connect((f"::ffff:{OUTSIDE}", 80))


def datagrams() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def start_child() -> None:
    done = subprocess.run([sys.executable, "-c", CONNECT], env={}, stderr=-3, check=False)
    assert not done.returncode


def start_process() -> None:
    one = multiprocessing.get_context("spawn").Process(target=connect)
    one.start()
    one.join()
    assert not one.exitcode


WAYS: dict[str, Callable[[], Any]] = {
    "a connection": connect,
    "a connection to a mapped address": connect_by_ipv6,
    "a datagram": lambda: datagrams().sendto(b"x", (OUTSIDE, 53)),
    "a message": lambda: datagrams().sendmsg([b"x"], [], 0, (OUTSIDE, 53)),
    "a name": lambda: socket.getaddrinfo(NAME, 80),
    "a name by an old function": lambda: socket.gethostbyname(NAME),
    "the name of an address": lambda: socket.gethostbyaddr(OUTSIDE),
    "the name of an address and port": lambda: socket.getnameinfo((OUTSIDE, 80), 0),
    "a child with an environment of its own": start_child,
    "a spawned process": start_process,
}


class Datagrams(asyncio.DatagramProtocol):
    def error_received(self, error: Exception) -> None:
        self.error = error


async def make_connection(host: str) -> None:
    await asyncio.get_running_loop().create_connection(asyncio.Protocol, host, 80)


async def look_up() -> None:
    await asyncio.get_running_loop().getaddrinfo(NAME, 80)


async def send_datagram() -> None:
    transport, receiver = await asyncio.get_running_loop().create_datagram_endpoint(
        Datagrams, ("127.0.0.1", 0)
    )
    transport.sendto(b"x", (OUTSIDE, 53))
    # asyncio raises no error of a socket; it tells the protocol.
    raise receiver.error


async def connect_datagrams() -> None:
    await asyncio.get_running_loop().create_datagram_endpoint(Datagrams, remote_addr=(OUTSIDE, 53))


async def start_child_on_a_loop() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CONNECT, env={}, stderr=asyncio.subprocess.DEVNULL
    )
    assert not await process.wait()


WAYS_ON_A_LOOP: dict[str, Callable[[], Awaitable[Any]]] = {
    "a connection": lambda: make_connection(OUTSIDE),
    "a name": look_up,
    "a datagram": send_datagram,
    "a connection of datagrams": connect_datagrams,
    "a child with an environment of its own": start_child_on_a_loop,
}


async def on_a_loop(folder: Path) -> None:
    for name, way in WAYS_ON_A_LOOP.items():
        os.environ[ATTEMPTS] = str(folder / f"{name} on a loop")
        try:
            await way()
            print(name, "on a loop")
        except Exception:
            continue


def main(loop: str, folder: Path) -> None:
    for name, way in WAYS.items():
        os.environ[ATTEMPTS] = str(folder / name)
        try:
            way()
            print(name)
        except Exception:
            continue
    {"uvloop": uvloop, "asyncio": asyncio}[loop].run(on_a_loop(folder))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
