"""Side by side on one machine: a bare Tornado redirect, and a click recorded before its redirect.

Rounds alternate, so that a noisy machine disturbs both alike; medians are compared. The load comes
from this process over loopback, is bounded in count, and stops by itself.
"""

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

import msgspec
import uvloop

from config.settings import Settings
from tracker.clock import now_ms
from tracker.conversions.event_config import PayoutType
from tracker.db import embedded
from tracker.db.connect import redis_for_requests
from tracker.links.store import NewLink
from tracker.services import Services

ROOT = Path(__file__).parent.parent

_BARE = """
import asyncio, tornado.web
class Bare(tornado.web.RequestHandler):
    def get(self, slug):
        self.redirect("https://example.com/landing")
async def main():
    app = tornado.web.Application([(r"/c/(.*)", Bare)], log_function=lambda handler: None)
    sockets = tornado.netutil.bind_sockets(0, "127.0.0.1")
    tornado.httpserver.HTTPServer(app).add_sockets(sockets)
    print(f"answers at http://127.0.0.1:{sockets[0].getsockname()[1]}", flush=True)
    await asyncio.Event().wait()
import tornado.httpserver, tornado.netutil, uvloop
uvloop.run(main())
"""


class Row(msgspec.Struct):
    """One thing that is measured: requests a second of each round, and latencies in seconds.

    `appendfsync` is how Redis flushes its journal to the disk meanwhile."""

    name: str
    port: int
    path: str
    appendfsync: str = "everysec"
    rates: list[float] = []
    latencies: list[float] = []


async def _visit(row: Row, count: int) -> None:
    """`count` requests on one connection, one after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", row.port)
    request = f"GET {row.path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n\r\n".encode()
    for _ in range(count):
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if match := re.search(rb"\r\nContent-Length: (\d+)", head):
            await reader.readexactly(int(match[1]))
        row.latencies.append(time.perf_counter() - began)
        if not head.startswith((b"HTTP/1.1 302", b"HTTP/1.1 200")):
            raise RuntimeError(f"{row.name}: {head[:100]!r}")
    writer.close()


async def _round(row: Row, requests: int, connections: int) -> None:
    began = time.perf_counter()
    each = requests // connections
    await asyncio.gather(*(_visit(row, each) for _ in range(connections)))
    row.rates.append(each * connections / (time.perf_counter() - began))


@asynccontextmanager
async def _process(*command: str, **variables: str) -> AsyncIterator[int]:
    """A server process that prints its address; yields the port."""
    process = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if match := re.search(r"answers at http://[^:]+:(\d+)", line):
                yield int(match[1])
                break
        else:
            raise RuntimeError(f"{command} did not start")
    finally:
        process.terminate()
        process.wait(20)


async def _seed(settings: Settings) -> str:
    """A link with the slug `bench`; the postback key of an event configuration."""
    services = Services(msgspec.structs.replace(settings, base_url="http://localhost"))
    try:
        account = await services.accounts.create("Bench")
        config = await services.event_configs.create(
            account.id, "Purchase", PayoutType.CPA, Decimal(1)
        )
        await services.links.create(
            NewLink(
                account_id=account.id,
                destination_url="https://example.com/landing",
                internal_name="Bench",
                slug="bench",
                domain_id=None,
                domain_name="",
                tags=[],
            )
        )
        return config.pbk
    finally:
        await services.close()


async def _landed(settings: Settings, expected: int) -> float:
    """Seconds until every click of the load is in MongoDB."""
    services = Services(msgspec.structs.replace(settings, base_url="http://localhost"))
    began = now_ms()
    try:
        while await services.database["clicks"].count_documents({}) < expected:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return (now_ms() - began) / 1000
    finally:
        await services.close()


async def _compare(settings: Settings, parsed: argparse.Namespace) -> None:
    pbk = await _seed(settings)
    variables = {
        "PORT": "0",
        "REDIS_URL": settings.redis_url,
        "MONGODB_URI": settings.mongodb_uri,
        "DATA_DIR": settings.data_dir,
        "LOG_LEVEL": "warning",
    }
    redis = redis_for_requests(settings.redis_url)
    async with _process("-c", _BARE) as bare, _process("run.py", **variables) as port:
        rows = [
            Row("bare Tornado redirect, nothing recorded", bare, "/c/bench"),
            Row("click, durable before the redirect", port, "/c/bench?utm_source=mail"),
            Row("the same, Redis flushing each append", port, "/c/bench?utm_source=x", "always"),
            Row("conversion by postback key", port, f"/api/event?pbk={pbk}&value=1"),
        ]
        for number in range(1, parsed.rounds + 1):
            for row in rows:
                print(f"\rround {number} of {parsed.rounds}: {row.name:45}", end="", flush=True)
                await redis.config_set("appendfsync", row.appendfsync)
                await _round(row, parsed.requests, parsed.connections)
        clicks = len(rows[1].latencies) + len(rows[2].latencies)
        seconds = await _landed(settings, clicks)
        await redis.aclose()
    _print(rows)
    print(f"\nall {clicks} clicks in MongoDB {seconds:.1f} s after the last answer")


def _print(rows: Sequence[Row]) -> None:
    print(f"\r{'':60}\r{'':45}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'ratio':>8}")
    first = statistics.median(rows[0].rates)
    for row in rows:
        rate = statistics.median(row.rates)
        cuts = statistics.quantiles(row.latencies, n=100)
        print(
            f"{row.name:45}{rate:12,.0f}{cuts[49] * 1000:9.2f}{cuts[98] * 1000:9.2f}"
            f"{rate / first:8.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench",
        description="Compare a recorded click with a bare Tornado redirect, side by side.",
        epilog="example:\n  make bench ARGS='--rounds 5'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each row [3]")
    parser.add_argument("--requests", type=int, default=8000, help="requests of a round [8000]")
    parser.add_argument("--connections", type=int, default=64, help="connections at once [64]")
    parsed = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        embedded.started(Settings(data_dir=folder)) as stores,
    ):
        uvloop.run(_compare(stores, parsed))


if __name__ == "__main__":
    main()
