"""A dedicated connection: opened by a store's client, and used without the client from then on.

Clients look for a connection for each command, and wrap it in retries, sessions, timeouts and
tasks: most of the cost of what every click or conversion waits for. So a client only opens the
connection (address, password, TLS). `db/redis_command_connection` and `db/mongo_reader` decide what
is sent over it, and read the replies.
"""

import asyncio
from typing import Any, Final, Protocol

_GRACE_SECONDS: Final = 0.05
"""Extra time, so that a loop that was blocked reads what has arrived before the timeout."""

NOT_YET: Final = object()
"""The result of `ReplyReader.read` while only a part of the reply has arrived."""


class ReplyReader(Protocol):
    """A reader of one store's replies, which may arrive in pieces.

    `lost_error` and `timeout_error` are the client's errors for a lost connection, and for no reply
    in time.
    """

    lost_error: type[Exception]
    timeout_error: type[Exception]

    def read(self, data: bytes) -> Any:
        """Return the reply that ends with `data`; an exception if it is a refusal; or NOT_YET.

        Raises ValueError if `data` is malformed, or holds more than one reply.
        """


class DedicatedConnection(asyncio.Protocol):
    """A connection for one command at a time: the caller waits for a reply before the next command.

    It is lost after any error but a refusal, and after `seconds` without a reply.
    """

    def __init__(self, transport: asyncio.Transport, seconds: float, replies: ReplyReader) -> None:
        self._transport = transport
        self._seconds = seconds
        self._replies = replies
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Any] | None = None
        # The client is notified when the connection is lost, because closing it waits for that.
        self._client = transport.get_protocol()
        transport.set_protocol(self)
        transport.resume_reading()

    @property
    def is_lost(self) -> bool:
        """Return whether the connection is lost, so that nothing can be sent over it."""
        return self._transport.is_closing()

    async def request(self, command: bytes) -> Any:
        """Send `command` and return the reply.

        Raises the reply if it is a refusal, the reader's `lost_error` if the connection is lost,
        and its `timeout_error` if there is no reply in time.
        """
        if self._transport.is_closing():
            raise self._replies.lost_error("the connection was lost")
        self._answer = answer = self._loop.create_future()
        try:
            self._transport.write(command)
        except RuntimeError as error:  # uvloop's, of a transport that is closed
            raise self._replies.lost_error(str(error)) from error
        self._timeout = self._loop.call_later(self._seconds, self._allow_grace)
        try:
            return await answer
        finally:
            self._timeout.cancel()
            if answer.cancelled():  # a later reply must not be taken for the next command's
                self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Hand a whole reply to the caller; called by the event loop."""
        try:
            reply = self._replies.read(data)
        except ValueError:
            self._transport.abort()
            return
        if reply is NOT_YET:
            return
        # A reply to no command must not be taken for the next command's.
        if self._answer is None:
            self._transport.abort()
        else:
            self._settle(reply)

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the command under way, and notify the client; called by the event loop."""
        self._settle(self._replies.lost_error("the connection was lost"))
        self._client.connection_lost(error)

    def _allow_grace(self) -> None:
        self._timeout = self._loop.call_later(_GRACE_SECONDS, self._time_out)

    def _time_out(self) -> None:
        self._settle(self._replies.timeout_error("no answer in time"))
        self._transport.abort()

    def _settle(self, reply: object) -> None:
        answer, self._answer = self._answer, None
        if answer is None or answer.done():
            return
        if isinstance(reply, Exception):
            answer.set_exception(reply)
        else:
            answer.set_result(reply)
