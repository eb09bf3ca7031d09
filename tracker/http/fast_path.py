"""The fast path: hot requests answered from the bytes received, before anything is parsed.

A server may have a `FastPath`. It is offered a request first if the whole head is in the buffer and
within its size limit. Nothing is checked yet: it takes only requests that it knows to be
well-formed, complete and without a body, and leaves all others to the parser. A server that is
ending does not offer it any.

`FastHeadParser` reads the head of such a request. Browsers of one release send the same lines, and
to the same host the same header, byte for byte. So a line is parsed once and remembered, as long as
there is room, and so is a header of known lines. Lines that differ for each visitor, such as those
that a proxy adds, are parsed each time.

A request is plain if any server would read it alike: GET or HEAD, HTTP/1.1, one Host, no body, no
header that asks for something (Connection other than keep-alive, Expect, Upgrade), visible ASCII in
the target, at most 200 pairs in the query.

Guarantee: the parser of `head` accepts every request that is read here, and reads it the same way.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec


class FastPathConnection(Protocol):
    """The part of a connection that a fast path may use."""

    @property
    def peer(self) -> str:
        """Return the address of the other end as text, or "0.0.0.0" if it has none."""

    def is_closing(self) -> bool:
        """Return whether no answer can reach the client any more."""

    def answer(self, data: bytes, keep_alive: bool) -> None:
        """Send the whole answer of the request that was taken; do nothing if the client has gone.

        The fast path calls it exactly once for each request, before or after it returns.
        """


FastPath = Callable[[FastPathConnection, bytes, int, int], bool]
"""A function that takes a request and returns True, or returns False to leave it to the parser.

It gets the connection, the buffer, and the offsets at which the head begins and ends, its blank
line included. The connection's next request does not begin before this one is answered."""

MAX_HEAD_BYTES: Final = 8192
"""Bytes of a plain head; the parser reads longer ones."""

_MAX_FIELDS: Final = 100
_METHODS: Final = ("GET", "HEAD")
_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE: Final = bytes([9, *range(32, 127), *range(128, 256)])
_NOT_PLAIN_NAMES: Final = frozenset(
    (
        *("content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer"),
        *("http2-settings", "proxy-connection", "keep-alive"),
    )
)
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+(?::[0-9]*)?")
_MAX_QUERY_PAIRS: Final = 200
_PERSISTENT: Final = ("", "keep-alive")

_MAX_KNOWN_HEADERS, _MAX_HEADER_BYTES = 1000, 2048
_MAX_KNOWN_LINES, _MAX_LINE_BYTES = 2000, 512
"""Headers and lines that are remembered, and the bytes of each: some 10 MB together at worst."""

_UNREAD, _NOT_PLAIN = -1, -2
"""The places of lines that are not read, and of lines that no plain head has."""

Header = TypeVar("Header")
Known = TypeVar("Known")
_Line = tuple[int, str]
"""A header line: the place of its value among those that are read, and the value."""


class FastHead(msgspec.Struct, Generic[Header], frozen=True, gc=False):
    """A plain head. Its texts are Latin-1, one character for each byte."""

    method: str
    path: str
    query: str
    header: Header


class FastHeadParser(Generic[Header]):
    """A parser of plain heads that reads the headers `names`, which are in lower case.

    `make` gets the Host, and the values in the order of `names`; a missing one is an empty string.
    A name may be given twice. The result of `make` is remembered, so it must depend on nothing
    else.
    """

    def __init__(self, names: Sequence[str], make: Callable[[str, list[str]], Header]) -> None:
        self._make = make
        wanted = ("host", "connection", *names)
        self._places = {name: place for place, name in enumerate(dict.fromkeys(wanted))}
        self._picks = [self._places[name] for name in wanted]
        self._headers: dict[bytes, Header] = {}
        self._lines: dict[bytes, _Line] = {}
        self._names: dict[bytes, int] = {}

    def read(self, data: bytes, start: int, end: int) -> FastHead[Header] | None:
        """Return the head at `data[start:end]`, or None if it is not plain.

        The head ends with the first blank line.
        """
        if end - start > MAX_HEAD_BYTES:
            return None
        line_end = data.find(b"\r\n", start, end)
        raw = data[line_end:end]
        header = self._headers.get(raw) or self._header(raw)
        if header is None:
            return None
        words = data[start:line_end].decode("latin-1").split(" ")
        if len(words) != 3:
            return None
        method, target, version = words
        if method not in _METHODS or version != "HTTP/1.1" or not target.startswith("/"):
            return None
        if not target.isascii() or not target.isprintable() or "#" in target:
            return None
        path, _, query = target.partition("?")
        if query.count("&") > _MAX_QUERY_PAIRS:
            return None
        return FastHead(method, path, query, header)

    def _header(self, raw: bytes) -> Header | None:
        """Return the header made of the lines of `raw`, or None if one of them is not plain."""
        lines = raw.split(b"\r\n")[1:-2]
        if len(lines) > _MAX_FIELDS:
            return None
        values: list[str | None] = [None] * len(self._places)
        all_known = len(raw) <= _MAX_HEADER_BYTES
        for raw_line in lines:
            line = self._lines.get(raw_line)
            if line is None:
                all_known = False
                if (line := self._line(raw_line)) is None:
                    return None
            place, value = line
            if place != _UNREAD:
                if values[place] is not None:  # sent twice
                    return None
                values[place] = value
        host, connection, *picked = [values[place] or "" for place in self._picks]
        if connection not in _PERSISTENT or not _HOST.fullmatch(host):
            return None
        header = self._make(host, picked)
        if all_known:
            _remember(self._headers, _MAX_KNOWN_HEADERS, raw, header)
        return header

    def _line(self, raw: bytes) -> _Line | None:
        """Return the place and value of a header line, or None if it is not plain."""
        name, colon, value = raw.partition(b":")
        place = self._names.get(name)
        if place is None:
            place = self._place(name)
        if place == _NOT_PLAIN or not colon or value.translate(None, _VISIBLE):
            return None
        text = "" if place == _UNREAD else value.strip(b" \t").decode("latin-1")
        line = place, text
        if len(raw) <= _MAX_LINE_BYTES:
            _remember(self._lines, _MAX_KNOWN_LINES, raw, line)
        return line

    def _place(self, name: bytes) -> int:
        lowered = name.decode("latin-1").lower()
        place = self._places.get(lowered, _UNREAD)
        if lowered in _NOT_PLAIN_NAMES or not _TOKEN.fullmatch(name):
            place = _NOT_PLAIN
        if len(name) <= _MAX_LINE_BYTES:
            _remember(self._names, _MAX_KNOWN_LINES, name, place)
        return place


def _remember(known: dict[bytes, Known], limit: int, raw: bytes, parsed: Known) -> None:
    if len(known) >= limit:
        known.clear()
    known[raw] = parsed
