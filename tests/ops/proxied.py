"""The service behind a proxy that ends TLS, and a client of that proxy."""

import http.client
import os
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pymongo.collection import Collection

from tests.factories import LANDING
from tests.system.service import Response
from tests.waiting import PROCESS_PATIENCE_SECONDS, until

BASE_HOST, PROVEN, UNPROVEN = "tracker.test", "links.proven.test", "links.unproven.test"
FORGED = {"X-Forwarded-For": "198.51.100.7"}


class Proxied(NamedTuple):
    """The ports of a service that has a link /c/abc, and a proven and an unproven domain."""

    public: int
    internal: int

    @property
    def addresses(self) -> tuple[str, str]:
        return f"127.0.0.1:{self.public}", f"127.0.0.1:{self.internal}"


class Proxy(NamedTuple):
    """A running proxy: its port for TLS, and the authority that issues its certificates."""

    port: int
    trust: ssl.SSLContext

    def get(self, host: str, path: str) -> Response:
        """Ask as a visitor would, with a forged address.

        Raises SSLError if the proxy has no certificate for `host`.
        """
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=PROCESS_PATIENCE_SECONDS)
        connection = http.client.HTTPConnection(host)
        with plain, self.trust.wrap_socket(plain, server_hostname=host) as connection.sock:
            connection.request("GET", path, headers=FORGED)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Response(answer.status, names, answer.read())


@contextmanager
def process(command: Sequence[str], port: int, log: Path, **variables: str) -> Iterator[None]:
    """Run a proxy until it accepts connections, and stop it on exit."""
    environment = {"PATH": os.environ["PATH"], **variables}
    with log.open("wb") as file:
        proxy = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
    try:
        until(lambda: proxy.poll() is not None or _accepts(port))
        assert proxy.poll() is None, log.read_text("utf-8")
        yield
    finally:
        proxy.terminate()
        proxy.wait(PROCESS_PATIENCE_SECONDS)


def check_click(proxy: Proxy, clicks: Collection[dict[str, Any]]) -> None:
    """Check that a visitor is redirected, told to use https, and known by the real address."""
    clicked = proxy.get(BASE_HOST, "/c/abc")
    assert (clicked.status, clicked.location.partition("?")[0]) == (302, LANDING)
    assert clicked.headers["strict-transport-security"] == "max-age=15552000"
    until(lambda: clicks.count_documents({}) == 1)
    assert (clicks.find_one() or {})["address"] == "127.0.0.1"


def replaced(path: Path, changes: Mapping[str, str]) -> str:
    """Return the text of a file with each of `changes` made; each occurs in it."""
    text = path.read_text("utf-8")
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    return text


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
