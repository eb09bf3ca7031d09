"""The head of a plain request, read at one glance: for the few hot requests, before any parser.

A request is plain if any server would read it alike: GET or HEAD, HTTP/1.1, one Host, no body, no
header that asks for something (Connection other than keep-alive, Expect, Upgrade), visible ASCII in
the target, at most 200 pairs in the query. What is not plain is for the parser, which refuses it or
not; so what is read here is never what the parser would refuse, or read otherwise.
"""

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

MOST: Final = 8192
"""Bytes of a plain head."""

_MOST_FIELDS: Final = 100
_LINE: Final = re.compile(r"(GET|HEAD) (/[!\"$->@-~]*)(?:\?([!\"$-~]*))? HTTP/1\.1")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE: Final = bytes([9, *range(32, 127), *range(128, 256)])
_LINE_ENDS: Final = [b"\r\n" * count for count in range(_MOST_FIELDS + 1)]
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

_Pick = Callable[[Sequence[str]], tuple[str, ...]]


class PlainHead(NamedTuple):
    """Texts hold one byte a character. `values` are those of the headers that are read, in the
    order of their names, empty if not sent; `end` is where the next request begins."""

    method: str
    path: str
    query: str
    host: str
    values: list[str]
    end: int


class PlainHeads:
    """Reads the headers with these names, in lower case."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        # Which of the values to pick, by the names as they were sent: browsers and networks have a
        # few layouts, and finding one costs less than looking at each name. None: not plain.
        self._layouts: dict[tuple[str, ...], _Pick | None] = {}

    def read(self, data: bytes, start: int = 0) -> PlainHead | None:
        """The plain request that begins at `start`; None if it is not plain, or not all there."""
        end = data.find(b"\r\n\r\n", start, start + MOST)
        if end < 0:
            return None
        raw = data[start:end]
        line, *fields = raw.decode("latin-1").split("\r\n")
        request = _LINE.fullmatch(line)
        count = len(fields)
        # Nothing but visible bytes and line ends, and these only as a pair.
        if (
            request is None
            or not 0 < count <= _MOST_FIELDS
            or raw.translate(None, _VISIBLE) != _LINE_ENDS[count]
        ):
            return None
        names, colons, values = zip(*[field.partition(":") for field in fields], strict=True)
        pick = self._layouts[names] if names in self._layouts else self._layout(names)
        if pick is None or "" in colons:
            return None
        host, connection, *picked = [value and value.strip(" \t") for value in pick((*values, ""))]
        method, path, query = request.groups("")
        if connection not in _LASTS or not _HOST.fullmatch(host) or query.count("&") > _MOST_PAIRS:
            return None
        return PlainHead(method, path, query, host, picked, end + 4)

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
