"""Single requests to the service, each over a connection of its own."""

import asyncio
from collections.abc import Mapping
from itertools import cycle
from typing import Any, Final

import orjson

from lab.load.requests import head

NO_ANSWER: Final = "no answer"
ANSWER_SECONDS: Final = 20.0

_ADDRESSES: Final = cycle([f"127.0.2.{number}" for number in range(1, 251)])
"""The owner of an account has many addresses, so that only the account's own limits hold."""


async def connect(
    port: int, source: str | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection from `source`, or from one of many addresses.

    Raises OSError if nothing listens on `port`.
    """
    address = source or next(_ADDRESSES)
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))


async def ask(port: int, request: bytes, source: str | None = None) -> bytes:
    """Return the whole answer to `request`; empty if there is none within ANSWER_SECONDS."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await connect(port, source)
            try:
                writer.write(request)
                return await _answer(reader)
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return b""


async def call(
    port: int,
    key: str,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    source: str | None = None,
) -> tuple[str, Any]:
    """Return the status and the decoded JSON that the API answers to the API key `key`.

    Without an answer they are NO_ANSWER and None.
    """
    content = b"" if body is None else orjson.dumps(body)
    fields = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
    }
    answer = await ask(port, head(method, path, fields) + content, source)
    if not answer:
        return NO_ANSWER, None
    return answer[9:12].decode(), orjson.loads(answer.partition(b"\r\n\r\n")[2] or b"null")


async def _answer(reader: asyncio.StreamReader) -> bytes:
    start = await reader.readuntil(b"\r\n\r\n")
    lowered = start.lower()
    length = 0
    if b"\r\ncontent-length:" in lowered:
        length = int(lowered.split(b"\r\ncontent-length:")[1].split(b"\r\n")[0])
    return start + await reader.readexactly(length)
