"""Handlers on the server: their order, their failures, and clients that have gone."""

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest
from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler

from tests.http.serving import application, client_of, get, serving
from tests.waiting import eventually


class Gone(RequestHandler):
    """A handler that answers only when it is notified that its client has gone."""

    def initialize(self, events: list[str]) -> None:
        self.events = events
        self.has_left = asyncio.Event()

    async def get(self) -> None:
        self.events.append("waits")
        await self.has_left.wait()
        self.write("too late")
        try:
            await self.flush()
        except StreamClosedError:
            self.events.append("closed")

    def on_connection_close(self) -> None:
        self.events.append("gone")
        self.has_left.set()


@pytest.mark.parametrize("abruptly", [True, False])
async def test_a_handler_is_notified_once_that_its_client_has_gone(abruptly: bool) -> None:
    events: list[str] = []
    app = application()
    app.add_handlers(".*", [("/", Gone, {"events": events})])
    async with serving(app) as (_, port):
        async with client_of(port) as client:
            client.send(get())
            await eventually(lambda: events)
            if not abruptly:
                client.writer.close()
        await eventually(lambda: "closed" in events)
    assert events == ["waits", "gone", "closed"]


async def test_a_late_answer_reaches_no_other_request() -> None:
    kept: list[RequestHandler] = []

    class Keeping(RequestHandler):
        def get(self) -> None:
            kept.append(self)
            self.write("kept")

    async with (
        serving(application(("/", Keeping))) as (_, port),
        client_of(port) as client,
    ):
        client.send(get())
        await client.answer()
        connection: Any = kept[0].request.connection
        with pytest.raises(StreamClosedError):
            await connection.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        connection.finish()
        client.send(get())
        assert (await client.answer()).body == b"kept"


async def test_a_handler_does_not_see_the_context_variables_of_the_previous_one() -> None:
    variable = ContextVar("variable", default="nothing")

    class Leaving(RequestHandler):
        def get(self) -> None:
            self.write(variable.get())
            variable.set("something")

    async with serving(application(("/", Leaving))) as (_, port), client_of(port) as client:
        client.send(get() * 3)
        assert [(await client.answer()).body for _ in range(3)] == [b"nothing"] * 3
