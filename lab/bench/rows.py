"""The rows of the benchmark, and the processes that serve each of them."""

import sys
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from config.settings import Settings
from lab.bench import nginx
from lab.processes import (
    ROOT,
    Process,
    accepts,
    at_port,
    free_ports,
    service_process,
    unlimited_process,
)
from lab.scene import Scene
from tracker.stores.builtin.child import Program

Serving = Literal[
    "tornado",
    "front",
    "web and drain",
    "all",
    "as delivered",
    "two of each",
    "two web processes",
    "nginx",
    "nginx and Lua",
]
RequestKind = Literal["clicks", "events by key", "events by click", "links", "changes"]

DELIVERED: Final = "delivered"
"""The name of the process that runs with every default."""

_DRAINS: Final = ("drain 1", "drain 2")

FIRST: Final = "a"
"""The row that all others are compared with."""


class Row(NamedTuple):
    """A row of the table: the server, the requests, and what else is measured.

    `stored` is the collection of what is recorded; `sustained` adds the search for the rate that
    the row sustains, and a measurement at half of it.
    """

    key: str
    name: str
    serving: Serving
    requests: RequestKind = "clicks"
    stored: Literal["clicks", "events"] | None = None
    sustained: bool = False
    appendfsync: Literal["everysec", "always"] = "everysec"
    links: int = 1_000

    @property
    def status(self) -> int:
        """Return the status of a right answer; before changes the load is clicks."""
        return 302 if self.requests in ("clicks", "changes") else 200

    @property
    def appends(self) -> bool:
        """Return whether an answer waits for an append to Redis."""
        return self.serving not in ("tornado", "front", "nginx")


ROWS: Final = (
    Row("a", "bare redirect, Tornado's own server", "tornado"),
    Row("b", "bare redirect, our front", "front"),
    Row("c", "click; drain in another process", "web and drain", stored="clicks", sustained=True),
    Row("d", "click; drain in the same process", "all", stored="clicks", sustained=True),
    Row(
        *("e", "c, Redis flushing each append", "web and drain"),
        stored="clicks",
        sustained=True,
        appendfsync="always",
    ),
    Row("f1", "event by postback key", "web and drain", "events by key", "events"),
    Row("f2", "event by click id", "web and drain", "events by click", "events"),
    Row("g", "list of short links, by API key", "web and drain", "links"),
    Row("h", "redirect by nginx", "nginx"),
    Row("i", "click; nginx and Lua append it to Redis", "nginx and Lua"),
    Row("j", "i, Redis flushing each append", "nginx and Lua", appendfsync="always"),
    Row(
        *("k", "c, of 20,000 links", "web and drain"),
        stored="clicks",
        sustained=True,
        links=20_000,
    ),
    Row(
        *("l", "c, two web processes, two drains, 4 partitions", "two of each"),
        stored="clicks",
        sustained=True,
    ),
    Row("m", "d, as delivered: all defaults, log read", "as delivered", stored="clicks"),
    Row(
        "n",
        "change of a link, seen by another process",
        "two web processes",
        "changes",
    ),
)


def chosen(keys: str) -> list[Row]:
    """Return the rows whose keys are named; `f` names f1 and f2.

    Raises ValueError if a key names no row.
    """
    named = [key.strip() for key in keys.split(",")]
    for key in named:
        if not key or not any(row.key.startswith(key) for row in ROWS):
            raise ValueError(f"no such row: {key!r}; there are {', '.join(r.key for r in ROWS)}")
    return [row for row in ROWS if row.key.startswith(tuple(named))]


def missing(row: Row) -> str:
    """Return what a row needs and this machine lacks; empty if it can be measured."""
    if row.serving == "nginx":
        return nginx.missing()
    return nginx.missing_for_lua() if row.serving == "nginx and Lua" else ""


def processes_of(serving: Serving, folder: Path, stores: Settings, scene: Scene) -> list[Process]:
    """Return the processes that serve a row, not started; the first one answers.

    Logs and the service's files are in `folder`; `stores` says where the stores are.
    """
    [port] = free_ports(1)
    if serving == "nginx":
        return [Process(nginx.redirecting(folder), port)]
    if serving == "nginx and Lua":
        return [Process(nginx.recording(folder, stores.redis_url, scene), port)]
    if serving in ("tornado", "front"):
        return [Process(_bare(folder, serving), port)]
    if serving == "as delivered":
        return [service_process(folder, DELIVERED, "all", at_port(port, folder, stores))]
    if serving == "all":
        return [unlimited_process(folder, stores, "all", port)]
    if serving == "two of each":
        shared = msgspec.structs.replace(stores, journal_partitions=4, web_concurrency=2)
        return [
            unlimited_process(folder, shared, "web", port),
            *(unlimited_process(folder, shared, "drain", port, name) for name in _DRAINS),
        ]
    if serving == "two web processes":
        [other_port] = free_ports(1)
        return [
            unlimited_process(folder, stores, "web", port, "web"),
            unlimited_process(folder, stores, "web", other_port, "other web"),
            unlimited_process(folder, stores, "drain", port),
        ]
    return [
        unlimited_process(folder, stores, "web", port),
        unlimited_process(folder, stores, "drain", port),
    ]


def _bare(folder: Path, kind: str) -> Program:
    def command(port: int) -> list[str]:
        return [sys.executable, str(ROOT / "lab" / "bench" / "bare.py"), kind, str(port)]

    return Program(kind, folder / f"{kind}.log", {"PYTHONPATH": str(ROOT)}, command, accepts)
