"""The head of a plain request, read at one glance: for the few hot requests, before any parser.

A request is plain if any server would read it alike: GET or HEAD, HTTP/1.1, one Host, no body, no
header that asks for something (Connection other than keep-alive, Expect, Upgrade), visible ASCII in
the target. What is not plain is for the parser, which refuses it or not; so what is read here is
never what the parser would refuse, or read otherwise.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

MOST: Final = 8192
"""Bytes of a plain head."""

_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE: Final = bytes([9, *range(32, 127), *range(128, 256)])
_MOST_LINES: Final = 100
_LINE_ENDS: Final = [b"\r\n" * count for count in range(_MOST_LINES)]
_NAMES_KNOWN: Final = 1000
_LONGEST_NAME: Final = 64

_READ: Final = (
    *("host", "user-agent", "referer", "accept", "x-forwarded-for", "x-request-id"),
    *("sec-purpose", "purpose", "x-purpose", "x-moz", "connection"),
)
_ASKING: Final = (
    *("content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer"),
    *("http2-settings", "proxy-connection", "keep-alive"),
)
_NOT_READ: Final = ""
_NOT_PLAIN: Final = "not plain"


class PlainHead(NamedTuple):
    """Texts hold one byte a character. `headers` are those that are read and were sent, by their
    name in lower case; `end` is where the next request begins."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    end: int


class PlainHeads:
    """Reads the headers that hot requests need, and `others`."""

    def __init__(self, others: tuple[str, ...] = ()) -> None:
        self._kinds = {name: name for name in (*_READ, *map(str.lower, others)) if name}
        self._kinds |= dict.fromkeys(_ASKING, _NOT_PLAIN)
        # As names were spelled by whoever sent them: each is checked and lowered once.
        self._names: dict[bytes, str] = {}

    def read(self, data: bytes | bytearray, start: int = 0) -> PlainHead | None:
        """The plain request that begins at `start`; None if it is not plain, or not all there."""
        end = data.find(b"\r\n\r\n", start, start + MOST)
        if end < 0:
            return None
        head = bytes(data[start : end + 2])
        lines = head.split(b"\r\n")
        # Nothing but visible bytes and line ends, and these only as a pair.
        count = len(lines) - 1
        if count >= _MOST_LINES or head.translate(None, _VISIBLE) != _LINE_ENDS[count]:
            return None
        request = lines[0].split(b" ")
        if len(request) != 3 or request[2] != b"HTTP/1.1" or request[0] not in (b"GET", b"HEAD"):
            return None
        target = request[1]
        if not target.startswith(b"/") or not target.isascii() or b"#" in target or b"\t" in target:
            return None
        headers = self._headers(lines)
        if headers is None:
            return None
        path, _, query = target.decode().partition("?")
        return PlainHead(request[0].decode(), path, query, headers, end + 4)

    def _headers(self, lines: list[bytes]) -> Mapping[str, str] | None:
        headers: dict[str, str] = {}
        names = self._names
        for line in lines[1:-1]:
            name, colon, value = line.partition(b":")
            kind = names.get(name)
            if kind is None:
                kind = self._kind(name)
            if not colon or kind is _NOT_PLAIN:
                return None
            if kind is _NOT_READ:
                continue
            if kind in headers:
                return None
            headers[kind] = value.decode("latin-1").strip(" \t")
        if "host" not in headers or headers.get("connection", "keep-alive") != "keep-alive":
            return None
        return headers

    def _kind(self, name: bytes) -> str:
        """The name in lower case if the header is read, _NOT_READ, or _NOT_PLAIN."""
        kind = _NOT_PLAIN
        if _TOKEN.fullmatch(name):
            kind = self._kinds.get(name.decode().lower(), _NOT_READ)
        if len(self._names) < _NAMES_KNOWN and len(name) <= _LONGEST_NAME:
            self._names[name] = kind
        return kind
