"""A dedicated connection: opened by a store's client, and used without the client from then on.

Clients look for a connection for each command, and wrap it in retries, sessions, timeouts and
tasks: most of the cost of what every click or conversion waits for. So a client only opens the
connection (address, password, TLS). `db/redis_command_connection` and `db/mongo_reader` decide what
is sent over it.
"""

import asyncio
from typing import Any, Final

_GRACE_SECONDS: Final = 0.05
"""Extra time, so that a loop that stood still reads what has arrived before the timeout."""

NOT_YET: Final = object()
"""The reply of a store of which only a part has arrived."""


class DedicatedConnection(asyncio.Protocol):
    """A connection for one command at a time, which the caller sees to.

    It is lost after any error but a refusal. `lost` and `late` are the client's errors for a lost
    connection, and for no answer within `seconds`.
    """

    lost: type[Exception]
    late: type[Exception]

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Any] | None = None
        # The client is told when the connection is lost: it waits for that when it is to close it.
        self._client = transport.get_protocol()
        transport.set_protocol(self)
        transport.resume_reading()

    def reply(self, data: bytes) -> Any:
        """Return the reply that ends with `data`; an exception if it is a refusal; or NOT_YET.

        Raises ValueError if there is more than one reply.
        """
        raise NotImplementedError

    async def request(self, command: bytes) -> Any:
        """Send `command` and return the reply.

        Raises the reply if it is a refusal, `lost` if the connection is lost, and `late` if there
        is no answer in time.
        """
        if self._transport.is_closing():
            raise self.lost("the connection was lost")
        self._answer = answer = self._loop.create_future()
        try:
            self._transport.write(command)
        except RuntimeError as error:  # uvloop's, of a transport that is closed
            raise self.lost(str(error)) from error
        self._timeout = self._loop.call_later(self._seconds, self._nearly_too_late)
        try:
            return await answer
        finally:
            self._timeout.cancel()
            if answer.cancelled():  # what comes yet is not to be taken for the next one's
                self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Hand a whole reply to the caller; called by the event loop."""
        try:
            reply = self.reply(data)
        except ValueError:
            self._transport.abort()
            return
        if reply is NOT_YET:
            return
        # One to no command: who asks next is not to take it for the answer.
        if self._answer is None:
            self._transport.abort()
        else:
            self._tell(reply)

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the command under way, and notify the client; called by the event loop."""
        self._tell(self.lost("the connection was lost"))
        self._client.connection_lost(error)

    def _nearly_too_late(self) -> None:
        self._timeout = self._loop.call_later(_GRACE_SECONDS, self._too_late)

    def _too_late(self) -> None:
        self._tell(self.late("no answer in time"))
        self._transport.abort()

    def _tell(self, reply: object) -> None:
        answer, self._answer = self._answer, None
        if answer is None or answer.done():
            return
        if isinstance(reply, Exception):
            answer.set_exception(reply)
        else:
            answer.set_result(reply)
