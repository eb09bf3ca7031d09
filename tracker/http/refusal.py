"""Requests that get no handler: why, and the answer that ends their connection. Pure."""

from collections.abc import Callable
from typing import Final

from tracker.http.date import own_fields

Render = Callable[[int, str], tuple[str, bytes]]
"""Status and reason to the Content-Type and the body of a refusal. Called once for each."""

_PHRASES: Final = {
    400: "Bad Request",
    408: "Request Timeout",
    413: "Content Too Large",
    414: "URI Too Long",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    505: "HTTP Version Not Supported",
}


class Refused(Exception):
    """The request is answered with `status`, one of _PHRASES, and its connection ends."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def refusal(refused: Refused, render: Render, head_only: bool) -> bytes:
    """The whole answer."""
    content_type, body = render(refused.status, refused.reason)
    head = (
        f"HTTP/1.1 {refused.status} {_PHRASES[refused.status]}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    )
    return b"%b%b\r\n%b" % (head.encode("latin-1"), own_fields(), b"" if head_only else body)
