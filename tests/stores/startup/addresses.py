"""Addresses at which nothing listens."""

from urllib.parse import urlsplit

NO_HOST = "no-such-host.invalid"


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port
