"""The short way for hot requests: answered from the bytes received, before anything is parsed.

A lane sees every request first that starts at a request boundary, has its whole head in the buffer
and is within the size limit of a head. Nothing of it is checked yet: a lane takes only what it
knows to be well-formed, complete and without a body, and leaves all else, anything unusual
included, to the parser. It is passed over once the server is ending.
"""

from collections.abc import Callable
from typing import Protocol


class FastPathConnection(Protocol):
    """What a lane may use of a connection."""

    @property
    def peer(self) -> str:
        """The address of the other end, as text; "0.0.0.0" if it has none."""

    def is_closing(self) -> bool:
        """Whether an answer would reach nobody."""

    def answer(self, data: bytes, keep_alive: bool) -> None:
        """The whole answer of the request that was taken; to be called exactly once, at any time
        after the lane was called, also before it returns. Does nothing if the client has gone.
        """


FastPath = Callable[[FastPathConnection, bytes, int, int], bool]
"""Given the connection, the buffer, and where in it the head begins and where it ends, the blank
line included: whether the lane takes the request, or leaves it to the parser. Until a request that
was taken is answered, the connection's next is not begun."""
