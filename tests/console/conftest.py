"""A real browser, the console on a real server in this process, and people who are signed in."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser, Page, Playwright, async_playwright, expect
from tornado.netutil import bind_sockets
from tornado.platform.asyncio import AsyncIOLoop

from config.settings import Settings
from tests.console import chromium, shop
from tests.console.browser import PATIENCE_MS, Problems, opened
from tests.console.people import sign_in
from tests.live.watching import guarded
from tests.web.client import Client
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.http.server import Server
from tracker.service.http_servers import make_server
from tracker.service.services import Services

OpenPage = Callable[..., AbstractAsyncContextManager[tuple[Page, Problems]]]
OpenConsole = Callable[..., AbstractAsyncContextManager[Page]]


HANDLER_SECONDS = 40
"""How long a handler may go on after its browser is gone: longer than any limit of the service."""


async def handlers_ended(before: Collection[asyncio.Task[Any]]) -> None:
    """Wait for handlers whose browser is gone. They would use stores that are closed.

    Those that were there `before` are of other tests.
    """
    tasks = asyncio.all_tasks().difference(before)
    handlers = [one for one in tasks if "RequestHandler._execute" in repr(one.get_coro())]
    if not handlers:
        return
    _, stuck = await asyncio.wait(handlers, timeout=HANDLER_SECONDS)
    for one in stuck:
        one.print_stack()
    assert not stuck


@contextmanager
def running(
    settings: Settings, sockets: list[socket.socket], io_loop: AsyncIOLoop
) -> Iterator[Services]:
    """Yield the objects of a process that serves the console on bound sockets."""

    async def start() -> tuple[Services, Server]:
        services = Services(settings)
        services.prepared.set()
        server = make_server(services)
        await server.listen(sockets)
        return services, server

    async def stop() -> None:
        server.stop()
        await server.finish(0, 0)
        await handlers_ended(before)
        await services.stop()
        await services.close()

    before = asyncio.all_tasks(io_loop.asyncio_loop)
    services, server = io_loop.run_sync(start)
    guard = guarded(services)
    io_loop.run_sync(guard.__aenter__)
    yield services
    io_loop.run_sync(lambda: guard.__aexit__(None, None, None))
    io_loop.run_sync(stop)


@pytest.fixture(scope="session")
def browser(io_loop: AsyncIOLoop) -> Iterator[Browser]:
    """Yield a browser for all tests of this process."""

    expect.set_options(timeout=PATIENCE_MS)

    async def start() -> tuple[Playwright, Browser]:
        launching = chromium.launching("EXCLUDE localhost", f"MAP {shop.HOST} 127.0.0.1")
        playwright = await async_playwright().start()
        return playwright, await playwright.chromium.launch(**launching)

    playwright, running = io_loop.run_sync(start)

    async def stop() -> None:
        await running.close()
        await playwright.stop()

    yield running
    io_loop.run_sync(stop)


@pytest.fixture
def bound(settings: Settings) -> Iterator[tuple[Settings, list[socket.socket]]]:
    """Yield settings whose BASE_URL is a socket of this machine, and the socket."""
    sockets = bind_sockets(0, "127.0.0.1")
    port = sockets[0].getsockname()[1]
    yield msgspec.structs.replace(settings, base_url=f"http://localhost:{port}", port=port), sockets


@pytest.fixture
def services(
    bound: tuple[Settings, list[socket.socket]], indexed: None, io_loop: AsyncIOLoop
) -> Iterator[Services]:
    """Yield the objects of a process that serves the console at its BASE_URL."""
    settings, sockets = bound
    with running(settings, sockets, io_loop) as services:
        yield services


@pytest.fixture
def client(settings: Settings, indexed: None, io_loop: AsyncIOLoop) -> Iterator[Client]:
    """Yield a client of the console at http://tracker.test, without a browser."""
    sockets = bind_sockets(0, "127.0.0.1")
    with running(settings, sockets, io_loop):
        yield Client(sockets[0].getsockname()[1])


@pytest.fixture
def open_page(browser: Browser, services: Services) -> OpenPage:
    """Return a context manager that opens a page of the console; it fails on any console error."""

    @asynccontextmanager
    async def open_one(**options: object) -> AsyncIterator[tuple[Page, Problems]]:
        async with opened(browser, services.settings.base_url, **options) as found:
            yield found

    return open_one


@pytest.fixture
def open_console(open_page: OpenPage, services: Services, account: Account) -> OpenConsole:
    """Return a context manager that opens a path as a new member of the account.

    It takes parts of the problems that the test provokes. Without a role nobody signs in.
    """

    @asynccontextmanager
    async def open_one(
        path: str, *expected: str, role: Role | None = Role.OWNER, **options: object
    ) -> AsyncIterator[Page]:
        async with open_page(**options) as (page, problems):
            problems.expected += expected
            if role is not None:
                await sign_in(services, page, account.id, role)
            await page.goto(path)
            yield page

    return open_one
