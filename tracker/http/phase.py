"""The phases of a connection, and their time limits.

Guarantee: every connection ends within the times of `Limits`, unless its handler is at work.
"""

from typing import TYPE_CHECKING, Final

from tracker.http.server_state import ServerState

if TYPE_CHECKING:
    from tracker.http.connection import Connection

# Received bytes are read in the first two phases only.
HEAD: Final = 0  # between requests, or in the head of one
BODY: Final = 1
PREPARING: Final = 2  # the handler is not ready for the body, or for more of it
ANSWERING: Final = 3  # the request is received, and its answer awaited
FAST_PATH: Final = 4  # the fast path has the request
CLOSING: Final = 5  # written bytes are being sent; received ones are dropped
CLOSED: Final = 6


def is_overdue(connection: "Connection", state: ServerState) -> bool:
    """Return whether `connection` has been in its phase for too long."""
    limits, phase, since = state.limits, connection.phase, connection.since
    if phase in (PREPARING, ANSWERING):
        return False
    if phase == BODY:
        return state.expired(since, limits.body_seconds)
    if phase == FAST_PATH:
        return state.expired(since, limits.fast_path_seconds)
    if phase >= CLOSING:
        return state.expired(since, limits.linger_seconds)
    if connection.buffer:
        return state.expired(since, limits.head_seconds)
    if state.ending_since is not None:
        return state.expired(max(since, state.ending_since), state.quiet_seconds)
    return state.expired(since, limits.idle_seconds if connection.served else limits.head_seconds)
