"""The head of a plain request, read at one glance: for the few hot requests, before any parser.

A request is plain if any server would read it alike: GET or HEAD, HTTP/1.1, one Host, no body, no
header that asks for something (Connection other than keep-alive, Expect, Upgrade), visible ASCII in
the target, at most 200 pairs in the query. What is not plain is for the parser, which refuses it or
not; so what is read here is never what the parser would refuse, or read otherwise.

Browsers, networks and proxies each send the same names in the same order, request after request:
a layout. Each that is met becomes one pattern, and the latest are remembered: one match both checks
a whole head and takes it apart, at less than half the cost of looking at each field.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

MOST: Final = 8192
"""Bytes of a plain head."""

_LINE: Final = r"(GET|HEAD) (/[!\"$->@-~]*)(?:\?([!\"$-~]*))? HTTP/1\.1\r\n"
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Nothing here can match one text in two ways: or a head that fails at its end would be tried in all
# of them.
_ANY: Final = r"[\t -~\x80-\xff]*+"
_VALUE: Final = r"((?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?)"
"""Without white space around it."""

_HOST: Final = r"([A-Za-z0-9._-]+(?::[0-9]*)?)"
_BLANKS: Final = r"[\t ]*+"
_ASKING: Final = frozenset(
    (
        *("content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer"),
        *("http2-settings", "proxy-connection", "keep-alive"),
    )
)
_MOST_FIELDS: Final = 100
_MOST_PAIRS: Final = 200
_TOLD_BY: Final = 12
_MOST_ALIKE: Final = 200
_MOST_TRIED: Final = 3


class PlainHead(NamedTuple):
    """Texts hold one byte a character. `values` are those of the headers that are read, in the
    order of their names, empty if not sent; `end` is where the next request begins."""

    method: str
    path: str
    query: str
    host: str
    values: list[str]
    end: int


class _Layout(NamedTuple):
    """`groups` are those of `pattern` that are the method, the path, the query, the host, and the
    values that are read; the last of the pattern's groups is empty, for what is not sent."""

    pattern: re.Pattern[str]
    groups: tuple[int, ...]


class PlainHeads:
    """Reads the headers with these names, in lower case."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        # By what tells most layouts apart: how many lines, and the name of the second field.
        self._layouts: dict[tuple[int, str], list[_Layout]] = {}

    def read(self, data: bytes, start: int = 0) -> PlainHead | None:
        """The plain request that begins at `start`; None if it is not plain, or not all there."""
        text = data[start : start + MOST].decode("latin-1")
        end = text.find("\r\n\r\n")
        second = text.find("\r\n", text.find("\r\n") + 2) + 2
        alike = text.count("\r\n", 0, end), text[second : second + _TOLD_BY]
        for layout in self._layouts.get(alike, ()):
            if match := layout.pattern.match(text):
                return _read(match, layout, start)
        return None if end < 0 else self._learned(alike, text, end, start)

    def _learned(self, alike: tuple[int, str], text: str, end: int, start: int) -> PlainHead | None:
        names = [field.partition(":")[0] for field in text[:end].split("\r\n")[1:]]
        layout = self._layout(names) if 0 < len(names) <= _MOST_FIELDS else None
        match = layout and layout.pattern.match(text)
        if not layout or not match:
            return None
        if len(self._layouts) >= _MOST_ALIKE:
            self._layouts.clear()
        others = self._layouts.get(alike, [])
        self._layouts[alike] = [layout, *others][:_MOST_TRIED]
        return _read(match, layout, start)

    def _layout(self, names: Sequence[str]) -> _Layout | None:
        lowered = [name.lower() for name in names]
        once = ("host", "connection", *self._names)
        if "host" not in lowered or not _ASKING.isdisjoint(lowered):
            return None
        if any(lowered.count(name) > 1 for name in once) or not all(map(_TOKEN.fullmatch, names)):
            return None
        patterns = [_LINE]
        found: dict[str, int] = {}
        for name, lower in zip(names, lowered, strict=True):
            patterns.append(f"{re.escape(name)}:{self._value(lower)}\\r\\n")
            if lower == "host" or lower in self._names:
                found[lower] = 4 + len(found)
        empty = 4 + len(found)
        wanted = [found.get(name, empty) for name in ("host", *self._names)]
        return _Layout(re.compile("".join(patterns) + "()\\r\\n"), (1, 2, 3, *wanted))

    def _value(self, lower: str) -> str:
        if lower == "connection":
            return f"{_BLANKS}keep-alive{_BLANKS}"
        if lower == "host":
            return _BLANKS + _HOST + _BLANKS
        return _BLANKS + _VALUE + _BLANKS if lower in self._names else _ANY


def _read(match: re.Match[str], layout: _Layout, start: int) -> PlainHead | None:
    method, path, query, host, *values = match.group(*layout.groups)
    if query is None:
        query = ""
    elif query.count("&") > _MOST_PAIRS:
        return None
    return PlainHead(method, path, query, host, values, start + match.end())
