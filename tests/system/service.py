"""The service as a real process, and a plain HTTP client for it."""

import http.client
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from config.settings import Settings
from tests.paths import ROOT
from tests.waiting import PROCESS_PATIENCE_SECONDS
from tracker.stores.builtin import binaries

# LD_PRELOAD may give a whole run another clock.
_KEPT = ("PATH", "HOME", "LANG", "LD_PRELOAD", binaries.REDIS_SERVER, binaries.MONGOD)

PATIENT = ("-m", "tests.system.patient")
"""The program for tests that are about its answers, not about stores that are slow."""

START_SECONDS = STOP_SECONDS = PROCESS_PATIENCE_SECONDS


class Response(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def location(self) -> str:
        return self.headers["location"]

    @property
    def click_id(self) -> str:
        return parse_qs(urlsplit(self.location).query)["click_id"][0]


class Client:
    """A client with one connection, which is kept open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=PROCESS_PATIENCE_SECONDS
        )

    def __call__(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, dict(headers or {}))
        answer = self._connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, names, answer.read())

    def close(self) -> None:
        self._connection.close()


class Service:
    """A running `run.py`. `banner` is the text that it printed until it answered."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines = _lines(process)
        self.banner = banner = _banner(process, self._lines)
        match = re.search(r"answers at https?://\S+?:(\d+)", banner)
        assert match, banner
        self.port = int(match[1])

    @contextmanager
    def client(self) -> Iterator[Client]:
        client = Client(self.port)
        try:
            yield client
        finally:
            client.close()

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Response:
        with self.client() as client:
            return client("GET", path, headers=headers)

    def printed(self) -> str:
        """Return the output after the banner, once every process of the service has ended."""
        return "".join(iter(lambda: self._lines.get(timeout=STOP_SECONDS), ""))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PROCESS_PATIENCE_SECONDS)

    def stop(self, by: int = signal.SIGTERM) -> int:
        """Send a signal to the service; return its exit code."""
        self.process.send_signal(by)
        return self.process.wait(STOP_SECONDS)


def environment(settings: Settings | None = None, **variables: str) -> dict[str, str]:
    """Return an environment with `settings` and `variables`, and no other settings."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    kept |= {"PORT": "0", "LOG_LEVEL": "warning"}
    if settings is not None:
        kept |= {
            "REDIS_URL": settings.redis_url,
            "MONGODB_URI": settings.mongodb_uri,
            "MONGODB_DATABASE": settings.mongodb_database,
            "DATA_DIR": settings.data_dir,
            "DNS_RESOLVER": settings.dns_resolver,
        }
    return kept | variables


@contextmanager
def running(
    variables: Mapping[str, str],
    *arguments: str,
    program: Sequence[str] = ("run.py",),
    errors: IO[str] | None = None,
) -> Iterator[Service]:
    """Run `program` with Python; yield it once it answers, and stop it on exit.

    Its log goes to `errors`, or to the standard error of the tests.
    """
    process = subprocess.Popen(
        [sys.executable, *program, *arguments],
        cwd=ROOT,
        env=dict(variables),
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    try:
        yield Service(process)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(STOP_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def ended(variables: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `run.py`, or Python with other arguments, until it ends."""
    return subprocess.run(
        [sys.executable, *(arguments or ("run.py",))],
        cwd=ROOT,
        env=dict(variables),
        capture_output=True,
        text=True,
        timeout=START_SECONDS + STOP_SECONDS,
        check=False,
    )


def _lines(process: subprocess.Popen[str]) -> "queue.Queue[str]":
    """Return a queue that gets each line when it is printed, and an empty one at the end."""
    lines: queue.Queue[str] = queue.Queue()
    stdout = process.stdout
    assert stdout is not None

    def read() -> None:
        for line in stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    return lines


def _banner(process: subprocess.Popen[str], lines: "queue.Queue[str]") -> str:
    """Return the output up to the last line of the banner."""
    text = ""
    while not ("/docs" in text if "Ctrl-C" in text else "answers at" in text):
        line = lines.get(timeout=START_SECONDS)
        assert line, f"run.py ended with {process.wait(PROCESS_PATIENCE_SECONDS)}: {text}"
        text += line
    return text
