"""Requests that the server rejects in place of a handler: the reason and the answer. Pure."""

from collections.abc import Callable
from typing import Final

from tracker.errors import CODE_HEADER, ErrorCode

Render = Callable[[int, str], tuple[str, bytes]]
"""A function that makes Content-Type and body of a rejection from its status and reason."""

_STATUSES: Final = {
    400: ("Bad Request", ErrorCode.MALFORMED_REQUEST),
    408: ("Request Timeout", ErrorCode.REQUEST_TIMEOUT),
    413: ("Content Too Large", ErrorCode.PAYLOAD_TOO_LARGE),
    414: ("URI Too Long", ErrorCode.TARGET_TOO_LONG),
    431: ("Request Header Fields Too Large", ErrorCode.HEADER_TOO_LARGE),
    500: ("Internal Server Error", ErrorCode.INTERNAL_ERROR),
    501: ("Not Implemented", ErrorCode.NOT_IMPLEMENTED),
    505: ("HTTP Version Not Supported", ErrorCode.VERSION_NOT_SUPPORTED),
}


class RejectedRequest(Exception):
    """A request that is answered with `status`, one of _STATUSES, and ends its connection."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def rejection(
    rejected: RejectedRequest, render: Render, default_headers: bytes, head_only: bool
) -> bytes:
    """Return the whole answer. `default_headers` are the fields that every answer has."""
    content_type, body = render(rejected.status, rejected.reason)
    phrase, code = _STATUSES[rejected.status]
    head = (
        f"HTTP/1.1 {rejected.status} {phrase}\r\n{CODE_HEADER}: {code}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    )
    return b"%b%b\r\n%b" % (head.encode("latin-1"), default_headers, b"" if head_only else body)
