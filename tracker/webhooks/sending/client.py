"""The HTTP client of webhooks: sends a delivery or a test once and returns the outcome.

It connects only to addresses that were checked for this connection (`resolver`), follows no
redirect, uses no proxy, and verifies certificates.

Guarantee: an Outcome within ATTEMPT_SECONDS, whatever the receiver does (`connection`).
"""

import asyncio
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

import msgspec
from tornado.httpclient import HTTPRequest, HTTPResponse
from tornado.iostream import UnsatisfiableReadError
from tornado.simple_httpclient import HTTPTimeoutError, SimpleAsyncHTTPClient

from tracker.links.own_hosts import ServedHosts
from tracker.webhooks.delivery import Outcome
from tracker.webhooks.limits import (
    ATTEMPT_SECONDS,
    CONNECT_SECONDS,
    MAX_BODY_BYTES,
    MAX_CLIENT_REQUESTS,
    MAX_ERROR_CHARACTERS,
    MAX_HEAD_BYTES,
)
from tracker.webhooks.sending.access_tokens import AccessTokens, NoToken
from tracker.webhooks.sending.connection import ReceiverConnection
from tracker.webhooks.sending.resolver import CheckedResolver, RefusedHost

_BUFFER_BYTES: Final = 4 * MAX_HEAD_BYTES
"""One read fills at most half of a connection's buffer, so the buffer is never full."""


class WebhookRequest(msgspec.Struct, kw_only=True):
    """A request to a receiver. `url` is ASCII; `body` is None if the method has none."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    longest_answer: int = MAX_BODY_BYTES

    @property
    def size(self) -> int:
        """Return the bytes of URL and body."""
        return len(self.url) + len(self.body or b"")


class _HttpClient(SimpleAsyncHTTPClient):
    def _connection_class(self) -> type:
        return ReceiverConnection


class WebhookClient:
    """Sends requests to all hosts but `served_hosts`. `dns_address` replaces the system's DNS."""

    def __init__(
        self,
        allow_private: bool,
        dns_address: tuple[str, int] | None,
        served_hosts: ServedHosts | None = None,
    ) -> None:
        self._tokens = AccessTokens(self._ask_for_token)
        self._http = _HttpClient(
            force_instance=True,
            resolver=CheckedResolver(
                allow_private=allow_private, dns_address=dns_address, served_hosts=served_hosts
            ),
            max_clients=MAX_CLIENT_REQUESTS,
            max_buffer_size=_BUFFER_BYTES,
            max_header_size=MAX_HEAD_BYTES,
            max_body_size=sys.maxsize,
        )

    async def send(
        self, request: WebhookRequest, on_written: Callable[[], object] = lambda: None
    ) -> Outcome:
        """Send `request` once. If the caller cancels it, it may still arrive.

        `on_written` is called once its body is written, which the client then no longer has.
        """
        answer, began = _Answer(request.longest_answer), time.monotonic()
        error, own_headers = None, request.headers
        try:
            request.headers = await self._tokens.filled(own_headers)
            fetching = self._http.fetch(
                _WebhookRequest(request, answer, on_written), raise_error=False
            )
            # Tornado's client cannot end a request, and would log how a cancelled one ended.
            fetching.add_done_callback(_retrieve_exception)
            await asyncio.shield(fetching)
        # Every incomplete answer leads here. Tornado's client raises undocumented types.
        except Exception as failure:
            error = _described(failure)[:MAX_ERROR_CHARACTERS]
        milliseconds = round((time.monotonic() - began) * 1000)
        outcome = answer.outcome(milliseconds, error)
        if outcome.code == HTTPStatus.UNAUTHORIZED:
            self._tokens.forget(own_headers)
        return outcome

    async def _ask_for_token(self, url: str, form: bytes) -> Outcome:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        request = WebhookRequest(method="POST", url=url, headers=headers, body=form)
        request.longest_answer = MAX_HEAD_BYTES
        return await self.send(request)

    def close(self) -> None:
        """Close the client; requests in flight continue."""
        self._http.close()


class _Answer:
    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._code = 0
        self._retry_after: str | None = None
        self._body = b""

    def take_line(self, line: str) -> None:
        """Take a line of a head. Interim answers have heads too."""
        name, _, value = line.partition(":")
        if line.startswith("HTTP/"):
            self._code = int(line.split()[1])
            self._retry_after = None
        elif name.lower() == "retry-after":
            self._retry_after = value.strip()

    def take_body(self, chunk: bytes) -> None:
        self._body += chunk[: self._longest - len(self._body)]

    def outcome(self, milliseconds: int, error: str | None) -> Outcome:
        """Return the outcome. A complete head is an answer, even if the body is missing."""
        answered = 200 <= self._code <= 599
        return Outcome(
            code=self._code if answered else None,
            milliseconds=milliseconds,
            answer=self._body.decode(errors="replace"),
            error=None if answered else error or "connection: no valid answer",
            retry_after=self._retry_after if answered else None,
        )


class _WebhookRequest(HTTPRequest):
    """The request for Tornado. `ReceiverConnection` calls `on_written`."""

    def __init__(
        self, request: WebhookRequest, answer: _Answer, on_written: Callable[[], object]
    ) -> None:
        super().__init__(
            request.url,
            method=request.method,
            headers=dict(request.headers),
            body=request.body,
            user_agent="tracker-webhooks",
            connect_timeout=CONNECT_SECONDS,
            request_timeout=ATTEMPT_SECONDS,
            follow_redirects=False,
            decompress_response=False,
            header_callback=answer.take_line,
            streaming_callback=answer.take_body,
        )
        self.longest_answer = request.longest_answer
        self._on_written = on_written

    def on_written(self, _: "asyncio.Future[None]") -> None:
        self.body = b""
        self._on_written()


def _retrieve_exception(fetching: "asyncio.Future[HTTPResponse]") -> None:
    """Keep asyncio from logging the exception."""
    if not fetching.cancelled():
        fetching.exception()


def _described(failure: Exception) -> str:
    """Return `<class>: <detail>`."""
    if isinstance(failure, HTTPTimeoutError):
        return f"timeout: {str(failure).removeprefix('Timeout ')}"
    if isinstance(failure, RefusedHost | NoToken):
        return str(failure)
    if isinstance(failure, ssl.SSLError):
        return f"tls: {getattr(failure, 'verify_message', '') or failure.reason or 'failed'}"
    if isinstance(failure, OSError):
        return f"connection: {failure.strerror or 'failed'}"
    if isinstance(failure, UnsatisfiableReadError):
        return "connection: the head of the answer is too long"
    return f"connection: {failure}"
