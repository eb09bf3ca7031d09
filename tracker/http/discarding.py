"""The queue of connections whose clients still send after their last answer.

Closing with bytes unread resets the connection, and the client may lose the answer. So connections
read on and drop the bytes, one at a time. Addresses take turns, and so do the connections of each.

Guarantee: the event loop reads at most a piece in TURN_SECONDS for all clients together.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

TURN_SECONDS: Final = 0.01
"""A piece is at most 256 KB, read in 0.1 ms. A client alone has its megabyte read in 0.1 s."""


class PausableConnection(Protocol):
    """A connection whose reading can be paused."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class DiscardQueue:
    """The connections whose bytes are dropped. `counted_as` names an address."""

    def __init__(self, loop: asyncio.AbstractEventLoop, counted_as: Callable[[str], str]) -> None:
        self._loop = loop
        self._counted_as = counted_as
        # By name of the address. The first connection of the first name has its turn, or is next.
        self._waiting: dict[str, dict[PausableConnection, None]] = {}
        self._reading: PausableConnection | None = None
        self._timer: asyncio.TimerHandle | None = None

    def add(self, address: str, connection: PausableConnection) -> None:
        connection.pause_reading()
        name = self._counted_as(address) or address
        self._waiting.setdefault(name, {})[connection] = None
        if self._timer is None:
            self._begin_turn()

    def end(self, address: str, connection: PausableConnection) -> None:
        """Remove an ended connection. The next one gets the rest of its turn."""
        has_turn = self._reading is connection
        self.remove(address, connection)
        if has_turn and self._timer is not None:
            # A client that has its answer should not wait for other connections' turns.
            self._timer.cancel()
            self._timer = self._loop.call_later(0, self._end_turn)

    def remove(self, address: str, connection: PausableConnection) -> None:
        if not self._waiting:
            return
        name = self._counted_as(address) or address
        connections = self._waiting.get(name, {})
        if self._reading is connection:
            self._move_to_end(name)
            self._reading = None
        connections.pop(connection, None)
        if not connections:
            self._waiting.pop(name, None)

    def _begin_turn(self) -> None:
        name = next(iter(self._waiting))
        connection = next(iter(self._waiting[name]))
        # A connection without bytes keeps its turn until another wants it.
        if self._reading is not None and self._reading is not connection:
            self._reading.pause_reading()
        self._reading = connection
        connection.resume_reading()
        self._timer = self._loop.call_later(TURN_SECONDS, self._end_turn)

    def _end_turn(self) -> None:
        self._timer = None
        if not self._waiting:
            return
        if self._reading is not None:
            name = next(iter(self._waiting))
            self._move_to_end(name)
            connections = self._waiting[name]
            connections[self._reading] = connections.pop(self._reading)
        self._begin_turn()

    def _move_to_end(self, name: str) -> None:
        self._waiting[name] = self._waiting.pop(name)
