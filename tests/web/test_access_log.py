"""ACCESS_LOG: one line for each request, with the same fields from fast path and handlers."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tornado.platform.asyncio import AsyncIOLoop

from tests.factories import create_event_config, create_link
from tests.http.serving import Client, client_of, get, serving
from tests.web.fixtures import Logged
from tracker.accounts.accounts import Account
from tracker.http.access_log import AccessLog
from tracker.http.fast_path import FastPathConnection
from tracker.metrics import REQUESTS
from tracker.service.app import make_app
from tracker.service.hot_requests import HotRequests
from tracker.service.services import Services

WAYS = ("fast_path", "handlers")
TIMES = 400


class Way:
    """A fast path, or one that takes nothing. `taken` counts the requests that it took."""

    def __init__(self, services: Services, name: str) -> None:
        self._fast_path = HotRequests(services) if name == "fast_path" else None
        self.taken = 0

    def __call__(self, connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        taken = self._fast_path is not None and self._fast_path(connection, data, start, end)
        self.taken += taken
        return taken


@asynccontextmanager
async def answering(
    services: Services, account: Account, share: float, name: str
) -> AsyncIterator[tuple[Client, Way]]:
    """Run a server that has opened the link `abc`; yield a client and the server's fast path."""
    services.web = services.web._replace(access_log=AccessLog(share))
    way = Way(services, name)
    async with serving(make_app(services), fast_path=way) as (_, port), client_of(port) as client:
        await opened(client, 1)
        way.taken = 0
        yield client, way


async def opened(client: Client, times: int) -> None:
    for _ in range(times):
        client.send(get("/c/abc"))
        assert (await client.answer()).status == 302


def lines(logged: Logged) -> list[dict[str, Any]]:
    return [record for record in logged() if record["logger"] == "tracker.access"]


@pytest.fixture(autouse=True)
def a_link(services: Services, account: Account, io_loop: AsyncIOLoop) -> None:
    io_loop.run_sync(lambda: create_link(services, account.id, "abc"))


def count(route: str, method: str, status: int) -> float:
    labels = {"route": route, "method": method, "status": str(status)}
    return float(REQUESTS.labels(**labels)._value.get())


REQUESTS_OF_BOTH = [
    ("GET", "/c/abc?utm_source=mail", "/c/{slug}", 302),
    ("HEAD", "/c/abc", "/c/{slug}", 302),
    ("GET", "/api/click?s=abc", "/api/click", 302),
    ("HEAD", "/api/click?s=abc", "/api/click", 302),
    ("GET", "/api/event?pbk={pbk}", "/api/event", 200),
]
REJECTED = [
    ("GET", "/c/never-there", "/c/{slug}", 404),
    ("GET", "/api/event?pbk=unknown", "/api/event", 404),
    ("GET", "/healthz", "/healthz", 200),
]
"""Requests that the fast path rejects, or leaves to handlers."""


@pytest.mark.parametrize("way", WAYS)
async def test_fast_path_and_handler_log_and_count_a_request_alike(
    services: Services, account: Account, logged: Logged, way: str
) -> None:
    pbk = (await create_event_config(services, account.id)).pbk
    async with answering(services, account, 1, way) as (client, taken):
        for method, target, route, status in (*REQUESTS_OF_BOTH, *REJECTED):
            logged()
            before = count(route, method, status)
            client.send(get(target.format(pbk=pbk), method=method))
            answer = await client.answer(head_only=method == "HEAD")
            assert (answer.status, count(route, method, status)) == (status, before + 1)
            [line] = lines(logged)
            assert 0 <= line.pop("milliseconds") < 10_000
            assert line.pop("timestamp").endswith("Z")
            assert line == {
                "event": "request",
                "level": "info",
                "logger": "tracker.access",
                "method": method,
                "path": target.partition("?")[0],
                "status": status,
                "request_id": answer.all_of("X-Request-Id")[0],
            }
        assert (taken.taken >= len(REQUESTS_OF_BOTH)) == (way == "fast_path")


@pytest.mark.parametrize("way", WAYS)
async def test_a_share_of_requests_has_a_line_and_all_are_counted(
    services: Services, account: Account, logged: Logged, way: str
) -> None:
    random.seed(1)
    for share, least, most in ((0, 0, 0), (0.25, 0.15 * TIMES, 0.35 * TIMES)):
        async with answering(services, account, share, way) as (client, _):
            before = count("/c/{slug}", "GET", 302)
            logged()
            await opened(client, TIMES)
            assert count("/c/{slug}", "GET", 302) == before + TIMES
        assert least <= len(lines(logged)) <= most


async def test_a_long_path_is_truncated_in_the_log(
    services: Services, account: Account, logged: Logged
) -> None:
    async with answering(services, account, 1.0, "fast_path") as (client, _):
        logged()
        client.send(get("/c/" + "x" * 5000))
        assert (await client.answer()).status == 404
        (line,) = lines(logged)
        assert line["path"] == "/c/" + "x" * 1021 + "..."
