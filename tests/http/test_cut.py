"""A handler that cannot complete its answer cuts it, so that no client takes it for a whole one."""

from asyncio import IncompleteReadError
from pathlib import Path
from typing import cast

import pytest
import trustme
from tornado.web import RequestHandler

from tests.http.certificates import issue, trusting
from tests.http.serving import application, client_of, get, serving
from tests.waiting import eventually
from tracker.http.exchange import Exchange
from tracker.http.tls import server_context


class Cut(RequestHandler):
    """A handler that cuts its answer after the first piece."""

    left = False

    async def get(self) -> None:
        Cut.left = False
        self.write(b"a part")
        await self.flush()
        cast("Exchange", self.request.connection).cut()

    def on_connection_close(self) -> None:
        Cut.left = True


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_a_client_can_tell_an_answer_that_is_cut(
    tmp_path: Path, version: str, tls: bool
) -> None:
    """Chunks have no last one; what only the connection ends is reset."""
    is_reset = version == "1.0" and not tls
    expected = ConnectionResetError if is_reset else (IncompleteReadError, OSError)
    authority = trustme.CA()
    context = server_context(*issue(authority, tmp_path)) if tls else None
    async with (
        serving(application(("/", Cut)), tls=context) as (server, port),
        client_of(port, trusting(authority) if tls else None) as client,
    ):
        client.send(get(version=version))
        with pytest.raises(expected):
            await client.answer()
        await eventually(lambda: not server.connections)
    assert Cut.left


class Whole(RequestHandler):
    """A handler that cuts its answer when it is complete."""

    def get(self) -> None:
        self.finish(b"whole")
        cast("Exchange", self.request.connection).cut()


async def test_a_complete_answer_is_not_cut() -> None:
    async with serving(application(("/", Whole))) as (_, port), client_of(port) as client:
        for _ in range(2):
            client.send(get())
            assert (await client.answer()).body == b"whole"
