"""An HTTP client that sends exactly the given bytes and returns the answer unchanged."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from tornado.httputil import HTTPHeaders

from tracker.errors import ErrorCode

HOST = "tracker.test"
_LAST_CHUNK = b"0\r\n\r\n"


class Response(NamedTuple):
    status: int
    headers: HTTPHeaders
    body: bytes

    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def error(self) -> str:
        """The message, after a check that the body has the shape of errors."""
        body = self.json()
        assert list(body) == ["error"]
        assert isinstance(body["error"], str)
        assert self.headers["Content-Type"] == "application/json; charset=utf-8"
        assert self.headers["X-Error-Code"] in set(ErrorCode)
        return str(body["error"])


class Client:
    """A client with a connection for each request. Header values and the target may be bytes.

    Of a stream of events, which has no end, it reads the beginning.
    """

    def __init__(self, port: int) -> None:
        self.port = port

    async def get(self, target: str | bytes, **headers: str | bytes) -> Response:
        return await self.request("GET", target, headers)

    async def post(self, target: str, body: bytes, **headers: str | bytes) -> Response:
        return await self.request("POST", target, headers, body)

    async def request(
        self,
        method: str,
        target: str | bytes,
        headers: Mapping[str, str | bytes] | None = None,
        body: bytes = b"",
    ) -> Response:
        """Send a request. Names of headers have `_` for `-`."""
        sent: dict[str, str | bytes] = {"Host": HOST, "Connection": "close", **(headers or {})}
        if body:
            sent["Content-Length"] = str(len(body))
        lines = [b" ".join((method.encode(), _bytes(target), b"HTTP/1.1"))]
        lines += [
            name.replace("_", "-").encode() + b": " + _bytes(value) for name, value in sent.items()
        ]
        return await self.sent(b"\r\n".join(lines) + b"\r\n\r\n" + body)

    async def sent(self, request: bytes) -> Response:
        """Return the answer to `raw`, parsed."""
        return _parsed(await self.raw(request))

    async def raw(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            if b"text/event-stream" in answer and not request.startswith(b"HEAD "):
                return answer + await reader.readuntil(b"\n\n\r\n") + _LAST_CHUNK
            return answer + await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")


def _parsed(raw: bytes) -> Response:
    head, _, body = raw.partition(b"\r\n\r\n")
    status_line, _, fields = head.decode("latin-1").partition("\r\n")
    headers = HTTPHeaders.parse(fields)
    if headers.get("Transfer-Encoding") == "chunked":
        body = _whole(body)
    return Response(int(status_line.split()[1]), headers, body)


def _whole(chunked: bytes) -> bytes:
    """Return a chunked body, after a check that its last chunk has come."""
    body = b""
    while True:
        size, _, chunked = chunked.partition(b"\r\n")
        if int(size, 16) == 0:
            assert chunked == b"\r\n"
            return body
        body, chunked = body + chunked[: int(size, 16)], chunked[int(size, 16) + 2 :]
