"""Ports for servers that must have a number before they start, and addresses without a server.

They are below those that the kernel gives to outgoing connections. Each process of the suite has a
block of its own, so nobody else takes a port between its choice and its use.
"""

import atexit
import functools
import itertools
import socket
from collections.abc import Iterator
from typing import Final

_BLOCK_PORTS: Final = 100
_BLOCKS: Final = range(30_000, 32_700, _BLOCK_PORTS)


def free_port() -> int:
    """Return a port of 127.0.0.1 without a server; a hundred calls later it may come again."""
    for port in itertools.islice(_own_block(), _BLOCK_PORTS):
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if _binds(one, port):
                return port
    raise AssertionError("every port of this process has a server")


@functools.cache
def _own_block() -> Iterator[int]:
    """Return the ports of a block in turn. A socket has the first: no other process takes it."""
    for first in _BLOCKS:
        holder = socket.socket()
        if _binds(holder, first):
            atexit.register(holder.close)
            return itertools.cycle(range(first + 1, first + _BLOCK_PORTS))
        holder.close()
    raise AssertionError("every block of ports has a process")


def _binds(one: socket.socket, port: int) -> bool:
    try:
        one.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True
