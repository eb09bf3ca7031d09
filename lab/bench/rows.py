"""The rows of the benchmark, and the processes that serve each of them."""

import shutil
import sys
from pathlib import Path
from typing import Final, Literal, NamedTuple

from config.settings import Settings
from lab.bench.bare import DESTINATION
from lab.processes import ROOT, Process, accepts, free_ports, unlimited_process
from tracker.builtin.child import Program

Serving = Literal["tornado", "front", "web and drain", "all", "nginx"]
RequestKind = Literal["clicks", "events by key", "events by click", "links"]

FIRST: Final = "a"
"""The row that all others are compared with."""


class Row(NamedTuple):
    """A row of the table: the server, the requests, and what else is measured.

    `stored` is the collection of what is recorded; `half` adds a measurement at half the rate.
    """

    key: str
    name: str
    serving: Serving
    requests: RequestKind = "clicks"
    stored: Literal["clicks", "events"] | None = None
    half: bool = False
    appendfsync: Literal["everysec", "always"] = "everysec"

    @property
    def status(self) -> int:
        """Return the status of a right answer."""
        return 302 if self.requests == "clicks" else 200


ROWS: Final = (
    Row("a", "bare redirect, Tornado's own server", "tornado"),
    Row("b", "bare redirect, our front", "front"),
    Row("c", "click; drain in another process", "web and drain", stored="clicks", half=True),
    Row("d", "click; drain in the same process", "all", stored="clicks", half=True),
    Row(
        "e", "c, Redis flushing each append", "web and drain", stored="clicks", appendfsync="always"
    ),
    Row("f1", "event by postback key", "web and drain", "events by key", "events"),
    Row("f2", "event by click id", "web and drain", "events by click", "events"),
    Row("g", "list of short links, by API key", "web and drain", "links"),
    Row("h", "redirect by nginx", "nginx"),
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


_NGINX: Final = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{ return 302 {destination}; }}
  }}
}}
"""


def has_nginx() -> bool:
    """Return whether nginx is installed."""
    return shutil.which("nginx") is not None


def processes_of(serving: Serving, folder: Path, stores: Settings) -> list[Process]:
    """Return the processes that serve a row, not started; the first one answers.

    Logs and the service's files are in `folder`; `stores` says where the stores are.
    """
    [port] = free_ports(1)
    if serving == "nginx":
        return [Process(_nginx(folder), port)]
    if serving in ("tornado", "front"):
        return [Process(_bare(folder, serving), port)]
    if serving == "all":
        return [unlimited_process(folder, stores, "all", port)]
    return [
        unlimited_process(folder, stores, "web", port),
        unlimited_process(folder, stores, "drain", port),
    ]


def _bare(folder: Path, kind: str) -> Program:
    def command(port: int) -> list[str]:
        return [sys.executable, str(ROOT / "lab" / "bench" / "bare.py"), kind, str(port)]

    return Program(kind, folder / f"{kind}.log", {"PYTHONPATH": str(ROOT)}, command, accepts)


def _nginx(folder: Path) -> Program:
    def command(port: int) -> list[str]:
        configuration = folder / "nginx.conf"
        configuration.write_text(_NGINX.format(folder=folder, port=port, destination=DESTINATION))
        return ["nginx", "-c", str(configuration), "-e", str(folder / "nginx-error.log")]

    return Program("nginx", folder / "nginx.log", {}, command, accepts)
