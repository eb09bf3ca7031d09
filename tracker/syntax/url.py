"""Absolute http and https URLs, checked and split, and parameters of a raw query. Pure."""

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from tracker.errors import BadRequest
from tracker.syntax.hostname import MAX_LABEL_CHARACTERS, ascii_hostname

MAX_CHARACTERS: Final = 2048

_FORBIDDEN: Final = (
    (re.compile(r"[\x00-\x1f\x7f-\x9f]"), "no control characters"),
    (re.compile(r"\s"), "no white space"),
    (re.compile(r"\\"), "no backslash"),
    (re.compile(r"[\ud800-\udfff]"), "no lone surrogates"),
)
_HOST_RULE: Final = (
    "the host must be a hostname, an IPv4 address or an IPv6 address in brackets, without macros"
)
# ASCII, or U+017F, a long s, would count as the "s" of https.
_URL: Final = re.compile(
    r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_AUTHORITY: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(.*))?", re.DOTALL)
_PORT: Final = re.compile(r"[0-9]{1,5}")
# Underscores, and hyphens anywhere, are not valid in hostnames, but browsers accept them.
_LABEL: Final = rf"[A-Za-z0-9_-]{{1,{MAX_LABEL_CHARACTERS}}}"
_HOSTNAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
# Browsers read a host that ends in a number as an IPv4 address: 127.1 and 0x7f000001 are loopback.
_ENDS_IN_NUMBER: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)")


class UrlParts(NamedTuple):
    """The parts of a URL. `query` and `fragment` have their "?" and "#"; `address` is canonical."""

    scheme: str
    authority: str
    address: tuple[str, int]
    path: str
    query: str
    fragment: str


def check_url(field: str, url: str) -> UrlParts:
    """Return the parts of a client's URL. Raises BadRequest naming `field` and the broken rule."""
    if len(url) > MAX_CHARACTERS:
        raise BadRequest(f"{field}: at most {MAX_CHARACTERS} characters")
    for pattern, rule in _FORBIDDEN:
        if pattern.search(url):
            raise BadRequest(f"{field}: {rule}")
    return split_url(field, url)


def split_url(field: str, url: str) -> UrlParts:
    """Return the parts of `url`. Raises BadRequest unless it is an absolute http or https URL."""
    match = _URL.fullmatch(url)
    if not match:
        raise BadRequest(f"{field}: must be an absolute http or https URL")
    scheme, authority, path, query, fragment = match.groups(default="")
    if "@" in authority:
        raise BadRequest(f"{field}: no user info before the host")
    authority, address = _authority(field, scheme, authority)
    return UrlParts(scheme, authority, address, path, query, fragment)


def _authority(field: str, scheme: str, text: str) -> tuple[str, tuple[str, int]]:
    match = _AUTHORITY.fullmatch(text)
    if not match:
        raise BadRequest(f"{field}: {_HOST_RULE}")
    host, port = match.groups()
    try:
        ascii_host, canonical = _host(host)
    except ValueError:
        raise BadRequest(f"{field}: {_HOST_RULE}") from None
    if not port:
        return ascii_host, (canonical, 443 if scheme.lower() == "https" else 80)
    if not _PORT.fullmatch(port) or not 1 <= int(port) <= 65535:
        raise BadRequest(f"{field}: the port must be 1 to 65535")
    return f"{ascii_host}:{port}", (canonical, int(port))


def _host(text: str) -> tuple[str, str]:
    """Return a host in ASCII, and its canonical form. Raises ValueError if it is invalid."""
    if text.startswith("["):
        if "%" in text:
            raise ValueError("a zone means nothing to others")
        return text, str(IPv6Address(text[1:-1]))
    host = text if text.isascii() else ascii_hostname(text)
    canonical = host.removesuffix(".").lower()
    if not _HOSTNAME.fullmatch(host) or len(canonical) > 253:
        raise ValueError("not a hostname")
    if _ENDS_IN_NUMBER.fullmatch(canonical):
        return host, str(IPv4Address(canonical))
    return host, canonical


def parameter(query: str, name: str) -> str:
    """Return the first value of `name` in a raw query, decoded; empty if there is none."""
    # Each click looks for two parameters, and nearly always neither is there.
    if f"&{name}=" not in query and "%" not in query and not query.startswith(f"{name}="):
        return ""
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        if key == name or ("%" in key and decoded(key) == name):
            return decoded(value)
    return ""


def decoded(text: str) -> str:
    """Return a part of a raw query, which has one character for each byte."""
    if text.isascii() and "%" not in text and "+" not in text:
        return text
    raw = text.replace("+", " ").encode("latin-1")
    return unquote_to_bytes(raw).decode(errors="replace")
