"""The processes of each row. The first of them is the one that answers."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from config.settings import Settings
from lab.bench.bare import DESTINATION
from lab.bench.rows import Serving
from lab.load.service import service
from lab.processes import ROOT, Process, answers, free_ports
from tracker.builtin.child import Program

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
    return shutil.which("nginx") is not None


class Servers:
    """Logs and the service's files are in `folder`; `stores` says where the stores are."""

    def __init__(self, folder: Path, stores: Settings) -> None:
        self._folder = folder
        self._stores = stores

    @contextmanager
    def of(self, serving: Serving) -> Iterator[list[Process]]:
        """Not yet started; whatever was started is ended on leaving."""
        [port] = free_ports(1)
        processes = self._processes(serving, port)
        try:
            yield processes
        finally:
            for process in processes:
                process.end()

    def _processes(self, serving: Serving, port: int) -> list[Process]:
        if serving == "nginx":
            return [Process(self._nginx(), port)]
        if serving in ("tornado", "front"):
            return [Process(self._bare(serving), port)]
        if serving == "all":
            return [service(self._folder, self._stores, "all", port)]
        return [
            service(self._folder, self._stores, "web", port),
            service(self._folder, self._stores, "drain", port),
        ]

    def _bare(self, kind: str) -> Program:
        def command(port: int) -> list[str]:
            return [sys.executable, str(ROOT / "lab" / "bench" / "bare.py"), kind, str(port)]

        variables = {"PYTHONPATH": str(ROOT)}
        return Program(kind, self._folder / f"{kind}.log", variables, command, answers)

    def _nginx(self) -> Program:
        def command(port: int) -> list[str]:
            configuration = self._folder / "nginx.conf"
            configuration.write_text(
                _NGINX.format(folder=self._folder, port=port, destination=DESTINATION)
            )
            return ["nginx", "-c", str(configuration), "-e", str(self._folder / "nginx-error.log")]

        return Program("nginx", self._folder / "nginx.log", {}, command, answers)
