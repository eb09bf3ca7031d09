"""A request as a Tornado handler sees it, made from a head that was checked.

Made by `dispatcher` for delegates that are routers, such as a tornado.web.Application: these would
make tornado.httputil.HTTPServerRequest themselves, which checks the host with a slow pattern, and
parses and copies the query whether or not anybody reads its arguments.
"""

import time
from functools import cached_property, lru_cache
from typing import Any, Final

from tornado.escape import parse_qs_bytes
from tornado.httputil import HTTPConnection, HTTPHeaders, HTTPServerRequest, RequestStartLine

_PAIRS: Final = 100
_HOST_LENGTH: Final = 255


class ReceivedRequest(HTTPServerRequest):
    """An HTTPServerRequest whose arguments are parsed when they are used.

    `connection` has a tracker.http.flow_control.Peer. Raises HTTPInputError if the Host is bad.
    """

    def __init__(
        self,
        start_line: RequestStartLine,
        headers: HTTPHeaders,
        connection: Any,
        server_connection: object,
    ) -> None:
        host = headers.get("Host", "")
        # What is rare, or may be refused for its size, is left to the base.
        if not 0 < len(host) <= _HOST_LENGTH or start_line.path.count("&") >= _PAIRS:
            super().__init__(
                start_line=start_line,
                headers=headers,
                connection=connection,
                server_connection=server_connection,
            )
            return
        self.method, self.uri, self.version = start_line
        self.path, _, self.query = start_line.path.partition("?")
        self.headers = headers
        self.host = host
        self.host_name = _host_name(host)
        self.remote_ip = connection.context.remote_ip
        self.protocol = connection.context.protocol
        self.connection: HTTPConnection = connection
        self.server_connection = server_connection
        self.body = b""
        self.body_arguments = {}
        self.files = {}
        self._start_time = time.time()
        self._finish_time = None

    @cached_property
    def arguments(self) -> dict[str, list[bytes]]:  # type: ignore[override]
        """The arguments of the query, by name; the body is not parsed."""
        return parse_qs_bytes(self.query, keep_blank_values=True)

    @cached_property
    def query_arguments(self) -> dict[str, list[bytes]]:  # type: ignore[override]
        """The arguments of the query, by name."""
        return parse_qs_bytes(self.query, keep_blank_values=True)


@lru_cache(maxsize=256)
def _host_name(host: str) -> str:
    """Return the host without its port, in lower case. Raises HTTPInputError if it is malformed."""
    line = RequestStartLine("GET", "/", "HTTP/1.1")
    return HTTPServerRequest(start_line=line, headers=HTTPHeaders({"Host": host})).host_name
