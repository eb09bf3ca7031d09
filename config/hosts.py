"""Parsers of the hostnames and server addresses in settings. Pure."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

DNS_PORT: Final = 53

_HOSTNAME: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
    r"(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*",
    re.ASCII | re.IGNORECASE,
)
_ADDRESS_AND_PORT: Final = re.compile(r"(?:\[([^\]]*)\]|([0-9.]+)):([0-9]{1,5})")


def is_hostname(text: str) -> bool:
    """Return whether `text` is a hostname in its ASCII form."""
    return _HOSTNAME.fullmatch(text) is not None


def split_names(text: str) -> list[str]:
    """Return the names in a comma-separated list, in lower case, without a final dot."""
    return [name.strip().lower().removesuffix(".") for name in text.split(",")] if text else []


def dns_server(text: str) -> tuple[str, int] | None:
    """Return the (IP address, port) in `text`; None if it is empty.

    Raises ValueError if `text` is no IP address, with or without a port.
    """
    if not text:
        return None
    match = _ADDRESS_AND_PORT.fullmatch(text)
    if match is None:
        return str(ip_address(text)), DNS_PORT
    port = int(match[3])
    if not 1 <= port <= 65535:
        raise ValueError("port out of range")
    return str(IPv6Address(match[1]) if match[1] else IPv4Address(match[2])), port
