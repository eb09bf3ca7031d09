"""The head of a request: httptools checks and splits the fields, the rest is checked here. Pure.

httptools does not see the request line: it refuses methods it does not know and bytes above 127,
which visitors do send, and accepts several spaces. Nor does it see a body, so it cannot be wrong
about where one ends.
"""

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from tornado.httputil import HTTPHeaders, RequestStartLine

from tracker.http.framing import AND, Fields, body_length, keeps_alive
from tracker.http.limits import Limits
from tracker.http.rejection import RejectedRequest

_METHOD_AND_TARGET: Final = rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+)"
_LINE: Final = re.compile(_METHOD_AND_TARGET + rb" HTTP/1\.([01])\r\n")
_OTHER_VERSION: Final = re.compile(_METHOD_AND_TARGET + rb" HTTP/[0-9]+(?:\.[0-9]+)?")
_ABSOLUTE: Final = re.compile(r"https?://([^/?#@]+)([/?].*)?", re.IGNORECASE)
FAULT: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r[^\n]")
"""Bytes that no head or trailer may have: control characters, and CR or LF alone."""

_ANY_LINE: Final = b"GET / HTTP/1.1\r\n"
_LINE_BESIDE_TARGET: Final = 64
_LONGEST_REMEMBERED: Final = 64


class Head(NamedTuple):
    """A request whose head is accepted. `body_length` is bytes or framing.CHUNKED."""

    start_line: RequestStartLine
    headers: HTTPHeaders
    body_length: int
    keep_alive: bool
    expects_continue: bool


class ReceivedFields(HTTPHeaders):
    """HTTPHeaders of fields that httptools has checked.

    Names and values are not checked again, and the lists of values are made only when something
    other than `get` and indexing is used, which is rare.
    """

    def __init__(self, fields: Fields) -> None:
        self._fields: Fields | None = fields
        self._combined_cache: dict[str, str] = {}

    def __getattr__(self, name: str) -> dict[str, list[str]]:
        """The lists, which are the base's from now on: it may change them."""
        if name != "_as_list" or self._fields is None:
            raise AttributeError(name)
        self._as_list = {name: values.split(AND) for name, values in self._fields.items()}
        self._fields = None
        return self._as_list

    def __getitem__(self, name: str) -> str:
        if self._fields is None:
            return super().__getitem__(name)
        return self._fields[_cased(name)].replace(AND, ",")

    def get(self, name: str, default: Any = None) -> Any:
        """Return the values of a field, joined by commas; `default` if it was not sent."""
        if self._fields is None:
            return super().get(name, default)
        values = self._fields.get(_cased(name))
        return default if values is None else values.replace(AND, ",")


class HeadReader:
    """A reader of whole heads, one after the other, of any connections.

    The parser is kept as long as it is sure to be between two requests, whatever was sent.
    """

    __slots__ = ("_complete", "_fields", "_lasts", "_parser")

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}
        self._complete = self._lasts = False
        self._parser = HttpRequestParser(self)

    def read(self, data: bytes, start: int, end: int, limits: Limits) -> Head:
        """Return the head at `data[start:end]`, which ends with the first blank line.

        Raises RejectedRequest if it is malformed or exceeds `limits`.
        """
        line = _request_line(data, start, limits)
        fields_start = line.end()
        if end - start > limits.head_bytes:
            raise RejectedRequest(431, f"header: at most {limits.head_bytes} bytes")
        if data.count(b"\r\n", fields_start, end) - 1 > limits.fields:
            raise RejectedRequest(431, f"header: at most {limits.fields} fields")
        fields = self.fields(data[fields_start:end])
        method, target, minor = line.groups()
        version = "HTTP/1.1" if minor == b"1" else "HTTP/1.0"
        return _head(method.decode(), target.decode("latin-1"), version, fields)

    def fields(self, lines: bytes) -> Fields:
        """Return the fields of `lines`, which end with the blank line.

        Raises RejectedRequest if they are malformed.
        """
        fields: dict[str, str] = {}
        self._fields = fields
        self._complete = self._lasts = False
        try:
            self._parser.feed_data(_ANY_LINE + lines)
        except HttpParserUpgrade:
            self._lasts = False  # Not offered here: the request is one like any other.
        except HttpParserError as error:
            self._lasts = False
            raise RejectedRequest(400, f"header: {error}") from None
        finally:
            if not self._lasts or "Content-Length" in fields or "Transfer-Encoding" in fields:
                self._parser = HttpRequestParser(self)
        if not self._complete:
            raise RejectedRequest(400, "header: incomplete")
        return fields

    # Called by the parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a field."""
        key = _cased(name.decode("latin-1"))
        text = value.decode("latin-1").rstrip(" \t")
        fields = self._fields
        fields[key] = f"{fields[key]}{AND}{text}" if key in fields else text

    def on_headers_complete(self) -> None:
        """Note the end of the head."""
        self._complete = True
        self._lasts = self._parser.should_keep_alive()


def _cased(name: str) -> str:
    # Visitors send it: what is remembered of them has to be bounded in size too.
    return _remembered_case(name) if len(name) <= _LONGEST_REMEMBERED else _case(name)


def _case(name: str) -> str:
    return "-".join([word.capitalize() for word in name.split("-")])


_remembered_case = lru_cache(maxsize=1024)(_case)


def check_partial(data: bytes, start: int, checked: int, limits: Limits) -> None:
    """Check `data[start:]`, which has no blank line yet; bytes before `checked` are known good.

    Raises RejectedRequest if nothing that follows could make it a head.
    """
    # Only what is new is searched: a target of 50 KB that came byte by byte cost 2.5 s otherwise.
    line_limit = start + limits.target_bytes + _LINE_BESIDE_TARGET
    if data.find(b"\r\n", max(start, checked - 1), line_limit) >= 0:
        _request_line(data, start, limits)
    elif len(data) > line_limit and data.find(b"\r\n", start, line_limit) < 0:
        raise RejectedRequest(414, f"request target: at most {limits.target_bytes} bytes")
    if FAULT.search(data, max(start, checked - 1)):
        raise RejectedRequest(400, "header: control character")
    if len(data) - start > limits.head_bytes:
        raise RejectedRequest(431, f"header: at most {limits.head_bytes} bytes")


def _request_line(data: bytes, start: int, limits: Limits) -> re.Match[bytes]:
    line = _LINE.match(data, start)
    if line is None:
        raise _bad_line(data[start : data.index(b"\r\n", start)], limits)
    if len(line[2]) > limits.target_bytes:
        raise RejectedRequest(414, f"request target: at most {limits.target_bytes} bytes")
    return line


def _bad_line(line: bytes, limits: Limits) -> RejectedRequest:
    if len(line) > limits.target_bytes + _LINE_BESIDE_TARGET:
        return RejectedRequest(414, f"request target: at most {limits.target_bytes} bytes")
    if _OTHER_VERSION.fullmatch(line):
        return RejectedRequest(505, "HTTP version: must be 1.0 or 1.1")
    return RejectedRequest(400, "request line: must be method, target and version")


def _head(method: str, target: str, version: str, fields: Fields) -> Head:
    host = fields.get("Host")
    if host is None or AND in host:
        _check_host(version, host)
    headers = ReceivedFields(fields)
    if target[0] != "/":
        target = _other_form(method, target, headers)
    expected = fields.get("Expect")
    return Head(
        RequestStartLine(method, target, version),
        headers,
        body_length(version, fields),
        keeps_alive(version, fields),
        expected is not None and version == "HTTP/1.1" and _is_continue(expected),
    )


def _is_continue(expected: str) -> bool:
    return "100-continue" in expected.lower().split(AND)


def _check_host(version: str, host: str | None) -> None:
    if host is not None or version != "HTTP/1.0":
        raise RejectedRequest(400, "Host: must be there, once")


def _other_form(method: str, target: str, headers: HTTPHeaders) -> str:
    """The path of a target that does not begin with one; its authority becomes the Host."""
    if method == "CONNECT" or (target == "*" and method == "OPTIONS"):
        return target
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise RejectedRequest(400, "request target: must be a path, or an http URL without user")
    headers["Host"] = absolute[1]
    rest = absolute[2] or ("*" if method == "OPTIONS" else "/")
    return rest if rest[0] != "?" else f"/{rest}"
