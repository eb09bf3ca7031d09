"""The head of a plain request, read at one glance: for the few hot requests, before any parser.

Browsers of one release that ask the same host send the same header, byte for byte, and what is
known of one is known of all: the last thousand are remembered. A header with something of a single
visitor in it, such as a proxy adds, is read anew, at ten times the cost.

A request is plain if any server would read it alike: GET or HEAD, HTTP/1.1, one Host, no body, no
header that asks for something (Connection other than keep-alive, Expect, Upgrade), visible ASCII in
the target, at most 200 pairs in the query. What is not plain is for the parser, which refuses it or
not; so what is read here is never what the parser would refuse, or read otherwise.
"""

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final, Generic, NamedTuple, TypeVar

MOST: Final = 8192
"""Bytes of a plain head."""

_MOST_FIELDS: Final = 100
_LINE: Final = re.compile(r"(GET|HEAD) (/[!\"$->@-~]*)(?:\?([!\"$-~]*))? HTTP/1\.1")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE: Final = bytes([9, *range(32, 127), *range(128, 256)])
_LINE_ENDS: Final = [b"\r\n" * count for count in range(_MOST_FIELDS + 3)]
_ASKING: Final = frozenset(
    (
        *("content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer"),
        *("http2-settings", "proxy-connection", "keep-alive"),
    )
)
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+(?::[0-9]*)?")
_MOST_PAIRS: Final = 200
_LASTS: Final = ("", "keep-alive")
_LAYOUTS_KNOWN: Final = 200
_HEADERS_KNOWN: Final = 1000
_LONGEST_KNOWN: Final = 2048
"""Bytes of a header that is remembered."""

Header = TypeVar("Header")
_Pick = Callable[[Sequence[str]], tuple[str, ...]]


class PlainHead(NamedTuple, Generic[Header]):
    """Texts hold one byte a character."""

    method: str
    path: str
    query: str
    header: Header


class PlainHeads(Generic[Header]):
    """Reads the headers with these names, in lower case.

    `make` makes of them what is kept: given the Host, and the values in the order of their names,
    empty if not sent. It is to depend on nothing else.
    """

    def __init__(self, names: Sequence[str], make: Callable[[str, list[str]], Header]) -> None:
        self._names = names
        self._make = make
        self._known: dict[bytes, Header] = {}
        # Which of the values to pick, by the names as they were sent: browsers and networks have a
        # few layouts, and finding one costs less than looking at each name. None: not plain.
        self._layouts: dict[tuple[str, ...], _Pick | None] = {}

    def read(self, data: bytes, start: int, end: int) -> PlainHead[Header] | None:
        """The request at `data[start:end]`, which ends with the first blank line; None if it is not
        plain."""
        if end - start > MOST:
            return None
        line_end = data.find(b"\r\n", start, end)
        raw = data[line_end:end]
        header = self._known.get(raw) or self._header(raw)
        if header is None:
            return None
        request = _LINE.fullmatch(data[start:line_end].decode("latin-1"))
        if request is None:
            return None
        method, path, query = request.groups("")
        if query.count("&") > _MOST_PAIRS:
            return None
        return PlainHead(method, path, query, header)

    def _header(self, raw: bytes) -> Header | None:
        """Of the lines that `raw` has between the end of the request's line and the blank one."""
        fields = raw.decode("latin-1").split("\r\n")[1:-2]
        count = len(fields)
        # Nothing but visible bytes and line ends, and these only as a pair.
        if not 0 < count <= _MOST_FIELDS or raw.translate(None, _VISIBLE) != _LINE_ENDS[count + 2]:
            return None
        names, colons, values = zip(*[field.partition(":") for field in fields], strict=True)
        pick = self._layouts[names] if names in self._layouts else self._layout(names)
        if pick is None or "" in colons:
            return None
        host, connection, *picked = [value and value.strip(" \t") for value in pick((*values, ""))]
        if connection not in _LASTS or not _HOST.fullmatch(host):
            return None
        header = self._make(host, picked)
        if len(raw) <= _LONGEST_KNOWN:
            if len(self._known) >= _HEADERS_KNOWN:
                self._known.clear()
            self._known[raw] = header
        return header

    def _layout(self, names: tuple[str, ...]) -> _Pick | None:
        if len(self._layouts) >= _LAYOUTS_KNOWN:
            self._layouts.clear()
        pick = self._layouts[names] = self._pick(names)
        return pick

    def _pick(self, names: tuple[str, ...]) -> _Pick | None:
        lowered = [name.lower() for name in names]
        wanted = ("host", "connection", *self._names)
        if not _ASKING.isdisjoint(lowered) or "host" not in lowered:
            return None
        if not all(map(_TOKEN.fullmatch, names)):
            return None
        if any(lowered.count(name) > 1 for name in wanted):
            return None
        # What was not sent is picked from behind the last value, which is empty.
        indexes = [lowered.index(name) if name in lowered else len(names) for name in wanted]
        return itemgetter(*indexes)
