"""The head of a request: its parser, and the meaning of its fields for body and connection. Pure.

httptools splits the fields. The request line is checked here, because httptools would refuse
unknown methods and bytes above 127, which visitors do send.

The body's length and the connection's fate (RFC 9112, 6 and 9) are read more strictly than
required, or two readers of one message might differ, and let requests be smuggled.
"""

import re
from typing import Final, NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from tornado.httputil import HTTPHeaders, RequestStartLine

from tracker.http.limits import Limits
from tracker.http.rejection import RejectedRequest
from tracker.http.request import VALUE_SEPARATOR, Fields, ReceivedFields, canonical_name

_METHOD_AND_TARGET: Final = rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+)"
_REQUEST_LINE: Final = re.compile(_METHOD_AND_TARGET + rb" HTTP/1\.([01])\r\n")
_OTHER_VERSION: Final = re.compile(_METHOD_AND_TARGET + rb" HTTP/[0-9]+(?:\.[0-9]+)?")
_LENGTH: Final = re.compile(r"[0-9]{1,20}")
_ABSOLUTE_TARGET: Final = re.compile(r"https?://([^/?#@]+)([/?].*)?", re.IGNORECASE)
_EMPTY_LINES: Final = re.compile(rb"(?:\r\n)*")
FORBIDDEN_BYTES: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r[^\n]")
"""No head or trailer may have control characters, or CR or LF alone."""

CHUNKED: Final = -1
"""The length of a body in chunks, which marks its own end."""

_ANY_REQUEST_LINE: Final = b"GET / HTTP/1.1\r\n"
_MAX_METHOD_AND_VERSION_BYTES: Final = 64
"""Bytes of an incomplete or malformed request line beside its target."""


class Head(NamedTuple):
    """The head of an accepted request. `body_length` is in bytes, or CHUNKED."""

    start_line: RequestStartLine
    headers: HTTPHeaders
    body_length: int
    keep_alive: bool
    expects_continue: bool


class HeadReader:
    """A reader of whole heads, one after the other, for all connections of a server."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}
        self._complete = self._reusable = False
        self._parser = HttpRequestParser(self)

    def read(self, data: bytes, start: int, end: int, limits: Limits) -> Head:
        """Return the head at `data[start:end]`, with its blank line. Raises RejectedRequest."""
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
        """Return the fields of `lines`, with the blank line. Raises RejectedRequest."""
        fields: dict[str, str] = {}
        self._fields = fields
        self._complete = self._reusable = False
        try:
            self._parser.feed_data(_ANY_REQUEST_LINE + lines)
        except HttpParserUpgrade:
            self._reusable = False  # No upgrade is offered here, so the request is like any other.
        except HttpParserError as error:
            self._reusable = False
            raise RejectedRequest(400, f"header: {error}") from None
        finally:
            if not self._reusable or "Content-Length" in fields or "Transfer-Encoding" in fields:
                self._parser = HttpRequestParser(self)
        if not self._complete:
            raise RejectedRequest(400, "header: incomplete")
        return fields

    def on_header(self, name: bytes, value: bytes) -> None:
        key = canonical_name(name.decode("latin-1"))
        text = value.decode("latin-1").rstrip(" \t")
        fields = self._fields
        fields[key] = f"{fields[key]}{VALUE_SEPARATOR}{text}" if key in fields else text

    def on_headers_complete(self) -> None:
        self._complete = True
        self._reusable = self._parser.should_keep_alive()


def skip_empty_lines(data: bytes, start: int) -> int:
    """Return the offset behind the empty lines at `start`, which begin no request."""
    empty_lines = _EMPTY_LINES.match(data, start)
    return empty_lines.end() if empty_lines else start


def check_partial(data: bytes, start: int, checked: int, limits: Limits) -> None:
    """Check `data[start:]`, which has no blank line yet; bytes before `checked` were checked.

    Raises RejectedRequest if it cannot become an acceptable head, whatever follows.
    """
    # Only new bytes are searched: a target of 50 KB that came byte by byte cost 2.5 s otherwise.
    line_limit = start + limits.target_bytes + _MAX_METHOD_AND_VERSION_BYTES
    if data.find(b"\r\n", max(start, checked - 1), line_limit) >= 0:
        _request_line(data, start, limits)
    elif len(data) > line_limit and data.find(b"\r\n", start, line_limit) < 0:
        raise RejectedRequest(414, f"request target: at most {limits.target_bytes} bytes")
    if FORBIDDEN_BYTES.search(data, max(start, checked - 1)):
        raise RejectedRequest(400, "header: control character")
    if len(data) - start > limits.head_bytes:
        raise RejectedRequest(431, f"header: at most {limits.head_bytes} bytes")


def _request_line(data: bytes, start: int, limits: Limits) -> re.Match[bytes]:
    line = _REQUEST_LINE.match(data, start)
    if line is None:
        raise _line_rejection(data[start : data.index(b"\r\n", start)], limits)
    if len(line[2]) > limits.target_bytes:
        raise RejectedRequest(414, f"request target: at most {limits.target_bytes} bytes")
    return line


def _line_rejection(line: bytes, limits: Limits) -> RejectedRequest:
    if len(line) > limits.target_bytes + _MAX_METHOD_AND_VERSION_BYTES:
        return RejectedRequest(414, f"request target: at most {limits.target_bytes} bytes")
    if _OTHER_VERSION.fullmatch(line):
        return RejectedRequest(505, "HTTP version: must be 1.0 or 1.1")
    return RejectedRequest(400, "request line: must be method, target and version")


def _head(method: str, target: str, version: str, fields: Fields) -> Head:
    host = fields.get("Host")
    if version != "HTTP/1.0" if host is None else VALUE_SEPARATOR in host:
        raise RejectedRequest(400, "Host: must be there, once")
    headers = ReceivedFields(fields)
    if target[0] != "/":
        target = _normalized_target(method, target, headers)
    return Head(
        RequestStartLine(method, target, version),
        headers,
        body_length(version, fields),
        keeps_alive(version, fields),
        "Expect" in fields and _expects_continue(version, fields["Expect"]),
    )


def _expects_continue(version: str, expected: str) -> bool:
    return version == "HTTP/1.1" and "100-continue" in expected.lower().split(VALUE_SEPARATOR)


def _normalized_target(method: str, target: str, headers: HTTPHeaders) -> str:
    """Return the path of an absolute target, whose authority becomes the Host.

    Targets of CONNECT and the `*` of OPTIONS stay. Raises RejectedRequest for any other form.
    """
    if method == "CONNECT" or (target == "*" and method == "OPTIONS"):
        return target
    absolute = _ABSOLUTE_TARGET.fullmatch(target)
    if absolute is None:
        raise RejectedRequest(400, "request target: must be a path, or an http URL without user")
    headers["Host"] = absolute[1]
    rest = absolute[2] or ("*" if method == "OPTIONS" else "/")
    return rest if rest[0] != "?" else f"/{rest}"


def body_length(version: str, fields: Fields) -> int:
    """Return the body's length in bytes, or CHUNKED. Raises RejectedRequest if it is unclear."""
    lengths = fields.get("Content-Length")
    codings = fields.get("Transfer-Encoding")
    if codings is not None:
        if lengths is not None:
            raise RejectedRequest(400, "both Content-Length and Transfer-Encoding")
        return _chunked(version, codings.replace(VALUE_SEPARATOR, ","))
    if lengths is None:
        return 0
    if not _LENGTH.fullmatch(lengths):
        raise RejectedRequest(400, "Content-Length: must be one number")
    return int(lengths)


def _chunked(version: str, codings: str) -> int:
    if version == "HTTP/1.0":
        raise RejectedRequest(400, "Transfer-Encoding: not in HTTP/1.0")
    *others, last = (coding.strip(" \t").lower() for coding in codings.split(","))
    if last != "chunked" or "chunked" in others or "" in others:
        raise RejectedRequest(400, "Transfer-Encoding: must end in chunked")
    if others:
        raise RejectedRequest(501, "Transfer-Encoding: only chunked is supported")
    return CHUNKED


def keeps_alive(version: str, fields: Fields) -> bool:
    values = fields.get("Connection")
    if values is None:
        return version == "HTTP/1.1"
    listed = values.replace(VALUE_SEPARATOR, ",").lower().split(",")
    options = [option.strip(" \t") for option in listed]
    return "close" not in options and (version == "HTTP/1.1" or "keep-alive" in options)
