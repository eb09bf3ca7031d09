"""The fast path: hot requests answered from the bytes received, before anything is parsed.

The fast path takes only plain requests, and leaves the rest to the parser. A request is plain if
every server reads it the same: GET or HEAD, HTTP/1.1, one Host, no body, no header that asks for
something (Connection other than keep-alive, Expect, Upgrade), visible ASCII in the target, at most
200 pairs in the query.

Browsers of one release send the same lines, byte for byte, so lines and headers are cached. A Host
that comes first is cached apart, or a thousand hostnames would each have headers of their own.

Guarantee: the parser of `head` accepts every request that is read here, and reads it the same way.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec


class FastPathConnection(Protocol):
    """The part of a connection that a fast path may use."""

    @property
    def peer(self) -> str:
        """Return the address of the other end as text, or "0.0.0.0" if it has none."""

    def is_closing(self) -> bool:
        """Return whether no answer can reach the client any more."""

    def take_body(self, end: int) -> None:
        """Take the bytes up to `end` as the request's body, before it is answered."""

    def answer(self, data: bytes, keep_alive: bool) -> None:
        """Send the whole answer; call this exactly once for each request that was taken."""


FastPath = Callable[[FastPathConnection, bytes, int, int], bool]
"""Takes a request and returns True, or leaves it to the parser and returns False.

The arguments are the connection, its buffer, and the offsets of the head's beginning and end. The
connection's next request begins after the answer.
"""

MAX_HEAD_BYTES: Final = 8192
"""The parser reads longer heads."""

_MAX_FIELDS: Final = 100
_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE: Final = bytes([9, *range(32, 127), *range(128, 256)])
_NOT_PLAIN_NAMES: Final = frozenset(
    (
        *("content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer"),
        *("http2-settings", "proxy-connection", "keep-alive"),
    )
)
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+(?::[0-9]*)?")
_HOST_FIRST: Final = (b"\r\nHost:", b"\r\nhost:")
_MAX_QUERY_PAIRS: Final = 200
_PERSISTENT: Final = ("", "keep-alive")

_MAX_CACHED_HEADERS, _MAX_HEADER_BYTES = 1000, 2048
_MAX_CACHED_LINES, _MAX_LINE_BYTES = 2000, 512
_MAX_CACHED_HOSTS: Final = 2000
"""Cached headers, lines and hosts, and the bytes of each: some 10 MB together at worst."""

_UNREAD, _NOT_PLAIN = -1, -2
"""The indexes of lines that are not read, and of lines that no plain head has."""

Header = TypeVar("Header")
Parsed = TypeVar("Parsed")
_Line = tuple[int, str]


class PlainHead(msgspec.Struct, Generic[Header], frozen=True, gc=False):
    """A plain head. Its texts are Latin-1, one character for each byte."""

    method: str
    path: str
    query: str
    host: str
    header: Header


class _Fields(NamedTuple, Generic[Header]):
    """Header lines that were read. `host` is empty if they have none."""

    host: str
    header: Header


class PlainHeadParser(Generic[Header]):
    """A parser of plain heads that reads the headers `names`, which are in lower case.

    `make` gets the values in the order of `names`, "" for a missing one. Its result is cached, so
    it must depend on nothing else. A head may have a length of a body only if it is read.
    """

    def __init__(
        self,
        names: Sequence[str],
        make: Callable[[list[str]], Header],
        methods: Sequence[str] = ("GET", "HEAD"),
    ) -> None:
        self._make = make
        self._methods = methods
        self._reads_host_apart = "host" not in names
        wanted = ("host", "connection", *names)
        self._indexes = {name: index for index, name in enumerate(dict.fromkeys(wanted))}
        self._wanted = [self._indexes[name] for name in wanted]
        self._fields: dict[bytes, _Fields[Header]] = {}
        self._hosts: dict[bytes, str] = {}
        self._lines: dict[bytes, _Line] = {}
        self._names: dict[bytes, int] = {}

    def read(self, data: bytes, start: int, end: int) -> PlainHead[Header] | None:
        """Return the head at `data[start:end]`, with its blank line; None unless it is plain."""
        if end - start > MAX_HEAD_BYTES:
            return None
        line_end = data.find(b"\r\n", start, end)
        others, host = line_end, ""
        if self._reads_host_apart and data.startswith(_HOST_FIRST, line_end):
            others = data.find(b"\r\n", line_end + 2, end)
            raw_host = data[line_end + 2 : others]
            host = self._hosts.get(raw_host) or self._host(raw_host)
            if not host:
                return None
        raw = data[others:end]
        fields = self._fields.get(raw) or self._read_fields(raw)
        # One Host: not none, and not a second one among the other lines.
        if fields is None or bool(host) == bool(fields.host):
            return None
        words = data[start:line_end].decode("latin-1").split(" ")
        if len(words) != 3:
            return None
        method, target, version = words
        if method not in self._methods or version != "HTTP/1.1" or not target.startswith("/"):
            return None
        if not target.isascii() or not target.isprintable() or "#" in target:
            return None
        path, _, query = target.partition("?")
        if query.count("&") > _MAX_QUERY_PAIRS:
            return None
        return PlainHead(method, path, query, host or fields.host, fields.header)

    def _host(self, raw: bytes) -> str:
        """Return the host of a line; empty unless it is plain."""
        line = self._read_line(raw)
        if line is None or not _HOST.fullmatch(line[1]):
            return ""
        if len(raw) <= _MAX_LINE_BYTES:
            _cache(self._hosts, _MAX_CACHED_HOSTS, raw, line[1])
        return line[1]

    def _read_fields(self, raw: bytes) -> _Fields[Header] | None:
        lines = raw.split(b"\r\n")[1:-2]
        if len(lines) >= _MAX_FIELDS:
            return None
        values: list[str | None] = [None] * len(self._indexes)
        all_cached = len(raw) <= _MAX_HEADER_BYTES
        for raw_line in lines:
            line = self._lines.get(raw_line)
            if line is None:
                all_cached = False
                if (line := self._line(raw_line)) is None:
                    return None
            index, value = line
            if index != _UNREAD:
                if values[index] is not None:  # sent twice
                    return None
                values[index] = value
        has_host = values[0] is not None
        host, connection, *picked = [values[index] or "" for index in self._wanted]
        if connection not in _PERSISTENT or (has_host and not _HOST.fullmatch(host)):
            return None
        fields = _Fields(host, self._make(picked))
        if all_cached:
            _cache(self._fields, _MAX_CACHED_HEADERS, raw, fields)
        return fields

    def _line(self, raw: bytes) -> _Line | None:
        line = self._read_line(raw)
        if line is not None and len(raw) <= _MAX_LINE_BYTES:
            _cache(self._lines, _MAX_CACHED_LINES, raw, line)
        return line

    def _read_line(self, raw: bytes) -> _Line | None:
        name, colon, value = raw.partition(b":")
        index = self._names.get(name)
        if index is None:
            index = self._index(name)
        if index == _NOT_PLAIN or not colon or value.translate(None, _VISIBLE):
            return None
        text = "" if index == _UNREAD else value.strip(b" \t").decode("latin-1")
        return index, text

    def _index(self, name: bytes) -> int:
        lowered = name.decode("latin-1").lower()
        index = self._indexes.get(lowered, _UNREAD)
        if (index == _UNREAD and lowered in _NOT_PLAIN_NAMES) or not _TOKEN.fullmatch(name):
            index = _NOT_PLAIN
        if len(name) <= _MAX_LINE_BYTES:
            _cache(self._names, _MAX_CACHED_LINES, name, index)
        return index


def _cache(cache: dict[bytes, Parsed], limit: int, raw: bytes, parsed: Parsed) -> None:
    if len(cache) >= limit:
        cache.clear()
    cache[raw] = parsed
