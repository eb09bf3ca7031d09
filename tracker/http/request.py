"""A request and its fields as a Tornado handler sees them, made from a head that was checked.

tornado.httputil.HTTPServerRequest checks the host slowly, and always parses and copies the query.
"""

import time
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, Final

from tornado.escape import parse_qs_bytes
from tornado.httputil import HTTPConnection, HTTPHeaders, HTTPServerRequest, RequestStartLine

VALUE_SEPARATOR: Final = "\n"
"""The separator between values of fields with one name. No value contains it."""

Fields = Mapping[str, str]
"""Values by name, in Http-Header-Case, without white space around them; several are joined by
VALUE_SEPARATOR."""

_MAX_QUERY_PAIRS: Final = 100
_MAX_HOST_CHARACTERS: Final = 255
_MAX_CACHED_CHARACTERS: Final = 64
_MAX_CACHED_NAMES: Final = 1024
_MAX_CACHED_HOSTS: Final = 256


# Private in Tornado: HTTPHeaders._as_list and _combined_cache. Fields that httptools has checked
# are neither checked again nor split into lists. Guarded by tests/http/test_received_fields.py.
class ReceivedFields(HTTPHeaders):
    """The HTTPHeaders of checked fields. Its lists of values are made late: few calls need them."""

    def __init__(self, fields: Fields) -> None:
        self._fields: Fields | None = fields
        self._combined_cache: dict[str, str] = {}

    def __getattr__(self, name: str) -> dict[str, list[str]]:
        """Return the lists of values, which the base class reads and may change from now on."""
        if name != "_as_list" or self._fields is None:
            raise AttributeError(name)
        self._as_list = {
            name: values.split(VALUE_SEPARATOR) for name, values in self._fields.items()
        }
        self._fields = None
        return self._as_list

    def __getitem__(self, name: str) -> str:
        if self._fields is None:
            return super().__getitem__(name)
        return self._fields[canonical_name(name)].replace(VALUE_SEPARATOR, ",")

    def get(self, name: str, default: Any = None) -> Any:
        if self._fields is None:
            return super().get(name, default)
        values = self._fields.get(canonical_name(name))
        return default if values is None else values.replace(VALUE_SEPARATOR, ",")

    def __contains__(self, name: object) -> bool:
        if self._fields is None or not isinstance(name, str):
            return super().__contains__(name)
        return canonical_name(name) in self._fields


class ReceivedRequest(HTTPServerRequest):
    """An HTTPServerRequest that parses its arguments late. Raises HTTPInputError for a bad Host."""

    def __init__(self, start_line: RequestStartLine, headers: HTTPHeaders, connection: Any) -> None:
        host = headers.get("Host", "")
        # Requests without a Host, or too large for this, are left to the base class.
        if (
            not 0 < len(host) <= _MAX_HOST_CHARACTERS
            or start_line.path.count("&") >= _MAX_QUERY_PAIRS
        ):
            super().__init__(start_line=start_line, headers=headers, connection=connection)
            return
        self.method, self.uri, self.version = start_line
        self.path, _, self.query = start_line.path.partition("?")
        self.headers = headers
        self.host = host
        self.host_name = _host_name(host)
        self.remote_ip = connection.context.remote_ip
        self.protocol = connection.context.protocol
        self.connection: HTTPConnection = connection
        self.server_connection = None
        self.body = b""
        self.body_arguments = {}
        self.files = {}
        # Private in Tornado: _start_time and _finish_time. A request that is made without the
        # constructor of its base still knows its time. Guarded by tests/http/test_request.py.
        self._start_time = time.time()
        self._finish_time = None

    @cached_property
    def arguments(self) -> dict[str, list[bytes]]:  # type: ignore[override]
        return parse_qs_bytes(self.query, keep_blank_values=True)

    @cached_property
    def query_arguments(self) -> dict[str, list[bytes]]:  # type: ignore[override]
        return parse_qs_bytes(self.query, keep_blank_values=True)


@lru_cache(maxsize=_MAX_CACHED_HOSTS)
def _host_name(host: str) -> str:
    """Return the host without its port, in lower case. Raises HTTPInputError."""
    line = RequestStartLine("GET", "/", "HTTP/1.1")
    return HTTPServerRequest(start_line=line, headers=HTTPHeaders({"Host": host})).host_name


def canonical_name(name: str) -> str:
    # Clients choose the names, so the size of cached ones is limited too.
    return _cached_name(name) if len(name) <= _MAX_CACHED_CHARACTERS else _capitalize(name)


def _capitalize(name: str) -> str:
    return "-".join([word.capitalize() for word in name.split("-")])


_cached_name = lru_cache(maxsize=_MAX_CACHED_NAMES)(_capitalize)
