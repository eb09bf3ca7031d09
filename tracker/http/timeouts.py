"""The time limits of a connection, by its phase. Each connection asks here once a sweep.

Guarantee: every connection ends within the times of `Limits`, unless its handler is at work.
"""

from typing import TYPE_CHECKING

from tracker.http.dispatcher import BODY, CLOSING, FAST_PATH, HEAD, Dispatcher
from tracker.http.flow_control import FlowControl
from tracker.http.rejection import RejectedRequest
from tracker.http.server_state import ServerState

if TYPE_CHECKING:
    from tracker.http.connection import Connection


def end_if_overdue(
    connection: "Connection", dispatcher: Dispatcher, flow: FlowControl, state: ServerState
) -> None:
    """End `connection` if its phase has taken too long, or its client takes nothing."""
    limits, phase, since = state.limits, connection.phase, connection.since
    if flow.has_unsent():
        if flow.is_stalled():
            connection.abort()
        if phase >= CLOSING or phase == HEAD:
            connection.since = state.now
    elif phase >= CLOSING:
        if state.expired(since, limits.linger_seconds):
            connection.abort()
    elif phase == HEAD and not connection.buffer:
        if _is_idle_too_long(connection, state):
            connection.close()
    elif phase == HEAD and state.expired(since, limits.head_seconds):
        dispatcher.reject(RejectedRequest(408, "the request took too long"))
    elif phase == BODY and dispatcher.is_body_late():
        dispatcher.reject(RejectedRequest(408, "the body took too long"))
    elif phase == FAST_PATH and state.expired(since, limits.fast_path_seconds):
        connection.abort()


def _is_idle_too_long(connection: "Connection", state: ServerState) -> bool:
    """Return whether a connection has waited too long for its first request, or its next."""
    limits, since = state.limits, connection.since
    if state.ending_since is not None:
        return state.expired(max(since, state.ending_since), state.quiet_seconds)
    seconds = limits.idle_seconds if connection.served else limits.head_seconds
    return state.expired(since, seconds)
