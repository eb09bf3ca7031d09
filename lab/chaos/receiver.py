"""The receiver of the webhooks: writes down what it is told, and refuses some of it once."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from typing import Final

import orjson
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

_REFUSED: Final = 10
"""Of so many new messages one is refused at first, to be sent again."""

Told = tuple[str, int]
"""The path, of which each webhook has its own, and the id of the event."""


class Receiver:
    """`told` counts the messages that were accepted, by their ids, for each that was told."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.told: defaultdict[Told, Counter[str]] = defaultdict(Counter)
        self.refused: set[str] = set()
        self._messages = 0

    def take(self, path: str, message_id: str, body: bytes) -> bool:
        """Whether it is accepted."""
        told = path, int(orjson.loads(body)["event"])
        if told not in self.told and message_id not in self.refused:
            self._messages += 1
            if self._messages % _REFUSED == 0:
                self.refused.add(message_id)
                return False
        self.told[told][message_id] += 1
        return True


class _Handler(RequestHandler):
    def initialize(self, receiver: Receiver) -> None:
        self.receiver = receiver

    def post(self) -> None:
        message_id = self.request.headers["webhook-id"]
        if not self.receiver.take(self.request.path, message_id, self.request.body):
            self.set_status(503)


@contextlib.asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """Listens until the end of the context."""
    sockets = bind_sockets(0, "127.0.0.1")
    receiver = Receiver(sockets[0].getsockname()[1])
    handlers = [(r".*", _Handler, {"receiver": receiver})]
    server = HTTPServer(Application(handlers, log_function=_nothing))
    server.add_sockets(sockets)
    try:
        yield receiver
    finally:
        server.stop()
        await server.close_all_connections()


def _nothing(handler: RequestHandler) -> None:
    """No line for each request."""
