"""The public address of the service, and the addresses of links on it. Pure."""

from typing import Final
from urllib.parse import urlsplit

_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}

EVERYWHERE: Final = (
    *("/c/", "/.well-known/"),
    *("/robots.txt", "/favicon.ico", "/api/click", "/api/event", "/api/consent"),
    *("/js/tracker.json", "/js/1/tracker.js"),
)
"""The paths that are the service's on custom domains too, all below them if they end in a slash."""


def is_everywhere(path: str) -> bool:
    return path in EVERYWHERE or path.startswith(EVERYWHERE[:2])


class PublicUrl:
    """The public address of the service, from BASE_URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.scheme = parts.scheme
        self.host = (parts.hostname or "").removesuffix(".")
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.url = url.rstrip("/")
        self._default_port = ":443" if self.scheme == "https" else ":80"

    def is_at(self, host: str, port: int) -> bool:
        """Return whether they are the service's, on either port: proxies redirect http to https."""
        same_host = host == self.host or {host, self.host} <= _LOOPBACK
        return same_host and (port == self.port or {port, self.port} == {80, 443})

    @property
    def web_origin(self) -> str:
        """Return the origin of pages as browsers send it: in lower case, no default port."""
        netloc = urlsplit(self.url).netloc.lower()
        return f"{self.scheme}://{netloc.removesuffix(self._default_port)}"

    def is_origin_of(self, host: str) -> bool:
        """Return whether a request with the Host header `host` came to this address."""
        return f"{self.scheme}://{host.lower().removesuffix(self._default_port)}" == self.web_origin

    def origin(self, domain_name: str) -> str:
        """Return the origin of links on a custom domain (empty: the default one)."""
        return f"{self.scheme}://{domain_name}" if domain_name else self.url
