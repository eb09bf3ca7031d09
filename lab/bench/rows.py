"""The rows of the benchmark, and the processes that serve each of them."""

import sys
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from config.settings import Settings
from lab.bench import nginx
from lab.processes import ROOT, Process, accepts, free_ports, loaded_process
from lab.scene import Deciding, Scene
from tracker.stores.builtin.child import Program

Serving = Literal[
    "tornado",
    "front",
    "web and drain",
    "all",
    "two of each",
    "two web processes",
    "nginx",
    "nginx and Lua",
]
RequestKind = Literal["clicks", "pages", "events by key", "events by click", "links", "changes"]

FIRST: Final = "a"  # all others are compared with it


class Row(NamedTuple):
    """A row of the table: the server, the requests, and what else is measured.

    - `sustained`: adds the search for the rate that the row sustains, and half of it
    - `access_log`: whether the server logs each request, as it does by default
    """

    key: str
    name: str
    serving: Serving
    requests: RequestKind = "clicks"
    stored: Literal["clicks", "events"] | None = None
    sustained: bool = False
    appendfsync: Literal["everysec", "always"] = "everysec"
    links: int = 1_000
    access_log: bool = True
    host: str = ""
    decides: Deciding = ""

    @property
    def scene(self) -> tuple[int, str, Deciding]:
        return self.links, self.host, self.decides

    @property
    def status(self) -> int:
        """Return the status of a right answer; before changes the load is clicks."""
        return 302 if self.requests in ("clicks", "changes") else 200

    @property
    def appends(self) -> bool:
        return self.serving not in ("tornado", "front", "nginx")


_CLICK: Final = Row(
    "c", "click; drain in another process", "web and drain", stored="clicks", sustained=True
)

ROWS: Final = (
    Row("a", "bare redirect, Tornado's own server", "tornado"),
    Row("b", "bare redirect, our front", "front"),
    _CLICK,
    _CLICK._replace(key="d", name="click; drain in the same process", serving="all"),
    _CLICK._replace(key="e", name="c, Redis flushing each append", appendfsync="always"),
    Row("f1", "event by postback key", "web and drain", "events by key", "events"),
    Row("f2", "event by click id", "web and drain", "events by click", "events"),
    Row("g", "list of short links, by API key", "web and drain", "links"),
    Row("h", "redirect by nginx", "nginx"),
    Row("i", "click; nginx and Lua append it to Redis", "nginx and Lua"),
    Row("j", "i, Redis flushing each append", "nginx and Lua", appendfsync="always"),
    _CLICK._replace(key="k", name="c, of 20,000 links", links=20_000),
    Row("p", "k, by POST /api/click", "web and drain", "pages", "clicks", links=20_000),
    _CLICK._replace(
        key="l", name="c, two web processes, two drains, 4 partitions", serving="two of each"
    ),
    Row("m", "c, without the access log", "web and drain", stored="clicks", access_log=False),
    Row("q", "c, of one link with window and limit", "web and drain", stored="clicks", links=1),
    _CLICK._replace(key="o", name="c, /<slug> of a domain", sustained=False, host="go.load.test"),
    _CLICK._replace(key="r", name="c, links with ten rules", sustained=False, decides="rules"),
    _CLICK._replace(key="s", name="c, links with a split of two", sustained=False, decides="split"),
    Row("n", "change of a link, seen by another process", "two web processes", "changes"),
)


def missing(row: Row) -> str:
    """Return what a row needs and this machine lacks; empty if it can be measured."""
    if row.serving == "nginx":
        return nginx.missing()
    return nginx.missing_for_lua() if row.serving == "nginx and Lua" else ""


def processes_of(row: Row, folder: Path, stores: Settings, scene: Scene) -> list[Process]:
    """Return the processes that serve a row, not started; the first one answers."""
    [port, other_port] = free_ports(2)
    process = partial(loaded_process, folder, logs_requests=row.access_log)
    if row.serving == "nginx":
        return [Process(nginx.redirecting(folder), port)]
    if row.serving == "nginx and Lua":
        return [Process(nginx.recording(folder, stores.redis_url, scene), port)]
    if row.serving in ("tornado", "front"):
        return [Process(_bare(folder, row.serving), port)]
    if row.serving == "all":
        return [process(stores, "all", port)]
    if row.serving == "two of each":
        shared = msgspec.structs.replace(stores, journal_partitions=4, web_concurrency=2)
        drains = [process(shared, "drain", port, name) for name in ("drain 1", "drain 2")]
        return [process(shared, "web", port), *drains]
    if row.serving == "two web processes":
        web = partial(process, stores, "web")
        return [web(port, "web"), web(other_port, "other web"), process(stores, "drain", port)]
    return [process(stores, "web", port), process(stores, "drain", port)]


def log_of(row: Row, process: Process) -> Path | None:
    if row.serving in ("nginx", "nginx and Lua"):
        return nginx.access_log(process.log.parent)
    return process.log if row.appends else None


def _bare(folder: Path, kind: str) -> Program:
    def command(port: int) -> list[str]:
        return [sys.executable, str(ROOT / "lab" / "bench" / "bare.py"), kind, str(port)]

    return Program(kind, folder / f"{kind}.log", {"PYTHONPATH": str(ROOT)}, command, accepts)
