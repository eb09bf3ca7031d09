"""Sends one request to a receiver and tells what came of it.

Called by the sender for each attempt. Guarantees an Outcome within SECONDS, whatever the receiver
does; that nothing is connected to but an address that was checked (`addresses`); that no redirect
and no proxy is followed; that certificates are verified; and that no answer takes more memory or
processor than a constant (`connection`).
"""

import asyncio
import ssl
import sys
import time
from collections.abc import Mapping
from typing import Final

import msgspec
from tornado.httpclient import HTTPRequest, HTTPResponse
from tornado.simple_httpclient import HTTPTimeoutError, SimpleAsyncHTTPClient

from tracker.links.own_hosts import OwnHosts
from tracker.webhooks.connection import BODY_BYTES, HEAD_BYTES, Connection
from tracker.webhooks.resolver import CheckedResolver, NoAddress, OwnHost, PrivateAddress, nobody

SECONDS: Final = 15.0
"""How long an attempt takes at most, from the question to DNS to the end of the answer."""

CONNECT_SECONDS: Final = 10.0
"""How much of it may pass until the connection, with TLS, is there."""

MOST_REQUESTS: Final = 1000
"""At once. More would wait within their SECONDS, so whoever sends has a lower bound."""

KEPT_BYTES: Final = BODY_BYTES
"""Of an answer's body."""

_DETAIL_CHARACTERS: Final = 200

_BUFFER_BYTES: Final = 4 * HEAD_BYTES
"""More than is ever waiting: half of it is what one read brings at most."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """`url` is ASCII. `body` None: the method is one without."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a request.

    `code` is the status that was answered, 200 to 599, None without an answer; `error` then says
    why, as `<class>: <detail>`, and is None otherwise. `answer` is the first KEPT_BYTES of the
    body as text; `retry_after` the value of that header, as it was sent.
    """

    code: int | None
    milliseconds: int
    answer: str
    error: str | None
    retry_after: str | None

    @property
    def delivered(self) -> bool:
        return self.code is not None and 200 <= self.code <= 299

    @property
    def failure(self) -> str | None:
        """One of 3xx, 4xx, 5xx, timeout, dns, private, own, tls, connection; None: delivered."""
        if self.delivered:
            return None
        if self.code is not None:
            return f"{self.code // 100}xx"
        return (self.error or "connection").partition(":")[0]


class Client:
    """To be made where an event loop runs. `dns_address` None: the system's DNS servers.

    Nothing is sent to `own_hosts`.
    """

    def __init__(
        self,
        allow_private: bool,
        dns_address: tuple[str, int] | None,
        own_hosts: OwnHosts | None = None,
    ) -> None:
        is_own = nobody if own_hosts is None else own_hosts.serve
        self._http = _HttpClient(
            force_instance=True,
            resolver=CheckedResolver(
                allow_private=allow_private, dns_address=dns_address, is_own=is_own
            ),
            max_clients=MOST_REQUESTS,
            max_buffer_size=_BUFFER_BYTES,
            max_header_size=HEAD_BYTES,
            max_body_size=sys.maxsize,
        )

    async def send(self, request: Request) -> Outcome:
        """Never raises for what the receiver does. Nothing is sent twice. Who cancels it leaves the
        request to itself: it may arrive, and ends within its SECONDS."""
        answer, began = _Answer(), time.monotonic()
        error = None
        try:
            fetching = self._http.fetch(_fetchable(request, answer), raise_error=False)
            # The HTTP client cannot be told to end a request, and logs how a cancelled one ended.
            fetching.add_done_callback(_ignored)
            await asyncio.shield(fetching)
        # A receiver that says nothing ends so, and one that stops, or is stopped, in its answer.
        # The HTTP client lets out whatever its parser meets, of types that it does not tell.
        except Exception as failure:
            error = _described(failure)[:_DETAIL_CHARACTERS]
        milliseconds = round((time.monotonic() - began) * 1000)
        return answer.outcome(milliseconds, error)

    def close(self) -> None:
        """Requests under way are left to themselves."""
        self._http.close()


class _HttpClient(SimpleAsyncHTTPClient):
    def _connection_class(self) -> type:
        return Connection


class _Answer:
    """What arrives of an answer, piece by piece."""

    def __init__(self) -> None:
        self._code = 0
        self._retry_after: str | None = None
        self._body = b""

    def take_line(self, line: str) -> None:
        """The first line of the head, or a field of it. Interim answers have heads, too."""
        name, _, value = line.partition(":")
        if line.startswith("HTTP/"):
            self._code = int(line.split()[1])
            self._retry_after = None
        elif name.lower() == "retry-after":
            self._retry_after = value.strip()

    def take_body(self, chunk: bytes) -> None:
        self._body += chunk[: KEPT_BYTES - len(self._body)]

    def outcome(self, milliseconds: int, error: str | None) -> Outcome:
        """An answer counts from its head on: the receiver has decided by then."""
        answered = 200 <= self._code <= 599
        return Outcome(
            code=self._code if answered else None,
            milliseconds=milliseconds,
            answer=self._body.decode(errors="replace"),
            error=None if answered else error or "connection: no valid answer",
            retry_after=self._retry_after if answered else None,
        )


def _fetchable(request: Request, answer: _Answer) -> HTTPRequest:
    return HTTPRequest(
        request.url,
        method=request.method,
        headers=dict(request.headers),
        body=request.body,
        user_agent="tracker-webhooks",
        connect_timeout=CONNECT_SECONDS,
        request_timeout=SECONDS,
        follow_redirects=False,
        decompress_response=False,
        header_callback=answer.take_line,
        streaming_callback=answer.take_body,
    )


def _ignored(fetching: "asyncio.Future[HTTPResponse]") -> None:
    """An exception that was asked for is not logged."""
    if not fetching.cancelled():
        fetching.exception()


def _described(failure: Exception) -> str:
    """As `<class>: <detail>`."""
    if isinstance(failure, HTTPTimeoutError):
        return f"timeout: {str(failure).removeprefix('Timeout ')}"
    if isinstance(failure, NoAddress):
        return f"dns: {failure}"
    if isinstance(failure, PrivateAddress):
        return f"private: {failure}"
    if isinstance(failure, OwnHost):
        return f"own: {failure}"
    if isinstance(failure, ssl.SSLError):
        return f"tls: {getattr(failure, 'verify_message', '') or failure.reason or 'failed'}"
    if isinstance(failure, OSError):
        return f"connection: {failure.strerror or 'failed'}"
    return f"connection: {failure}"
