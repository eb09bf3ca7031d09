"""The application on a real server, a client for it, and accounts with an API key."""

import contextlib
import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import orjson
import pytest
from tornado.netutil import bind_sockets
from tornado.platform.asyncio import AsyncIOLoop

from config import logging as config_logging
from tests.live.watching import guarded
from tests.web.client import Client
from tests.web.world import World
from tracker.access.api_keys import ApiKey
from tracker.accounts.accounts import Account
from tracker.http.access_log import AccessLog
from tracker.http.server import Server
from tracker.service.http_servers import make_server
from tracker.service.services import Services

Logged = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def client(services: Services, io_loop: AsyncIOLoop) -> Iterator[Client]:
    """Yield a client of a server. It sends `Connection: close`, so the handlers answer."""
    sockets = bind_sockets(0, "127.0.0.1")

    async def start() -> Server:
        server = make_server(services)
        await server.listen(sockets)
        return server

    guard = guarded(services)
    io_loop.run_sync(guard.__aenter__)
    server = io_loop.run_sync(start)
    yield Client(sockets[0].getsockname()[1])
    server.stop()
    io_loop.run_sync(lambda: server.finish(0, 0))
    io_loop.run_sync(lambda: guard.__aexit__(None, None, None))


@pytest.fixture
def account(services: Services, io_loop: AsyncIOLoop) -> Account:
    made: Account = io_loop.run_sync(lambda: services.accounts.accounts.create("Acme"))
    return made


@pytest.fixture
def other_account(services: Services, io_loop: AsyncIOLoop) -> Account:
    made: Account = io_loop.run_sync(lambda: services.accounts.accounts.create("Another"))
    return made


@pytest.fixture
def world(
    services: Services,
    client: Client,
    account: Account,
    other_account: Account,
    io_loop: AsyncIOLoop,
) -> World:
    made: tuple[ApiKey, str] = io_loop.run_sync(
        lambda: services.access.api_keys.create(account.id, "a key")
    )
    return World(services, client, account, other_account, secret=made[1])


@pytest.fixture
def logged(services: Services) -> Iterator[Logged]:
    """Yield a function that returns the records logged since its last call."""
    root, written = logging.getLogger(), io.StringIO()
    before = root.handlers[:], root.level, services.web.access_log
    with contextlib.redirect_stderr(written):
        config_logging.configure(
            msgspec.structs.replace(services.settings, log_level="info", log_format="json")
        )
    services.web = services.web._replace(
        access_log=AccessLog(services.settings.access_log)
    )  # writes where logs go now

    def records() -> list[dict[str, Any]]:
        lines = written.getvalue().splitlines()
        written.seek(0)
        written.truncate()
        return [orjson.loads(line) for line in lines]

    yield records
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    services.web = services.web._replace(access_log=before[2])
