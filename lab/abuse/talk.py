"""Single requests, over a connection each."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import cycle
from typing import Any, Final

import orjson

from lab.abuse.target import Owner
from lab.load.requests import head

NO_ANSWER: Final = "no answer"

_ADDRESSES: Final = cycle([f"127.0.2.{number}" for number in range(1, 251)])
"""Whoever has an account has many addresses, so that its own limits are what stops it."""

SECONDS: Final = 20.0


async def open_to(
    port: int, source: str | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection from `source`, or from one of many addresses. Raises OSError."""
    address = source or next(_ADDRESSES)
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))


async def ask(port: int, request: bytes, source: str | None = None) -> bytes:
    """Return the whole answer to `request`; empty if there is none within SECONDS."""
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await open_to(port, source)
            try:
                writer.write(request)
                start = await reader.readuntil(b"\r\n\r\n")
                lowered = start.lower()
                length = 0
                if b"\r\ncontent-length:" in lowered:
                    length = int(lowered.split(b"\r\ncontent-length:")[1].split(b"\r\n")[0])
                return start + await reader.readexactly(length)
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
    """Return the status and the value of the JSON that the API answers to an account's `key`."""
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


async def report_of_today(
    port: int, owner: Owner, filters: Mapping[str, str], source: str | None = None
) -> tuple[str, Any]:
    """Return the status and the value of the account's report of today by country."""
    today = datetime.now(UTC).date().isoformat()
    body = {
        "accountId": owner.account_id,
        "dateRange": {"from": today, "to": today},
        "groupBy": "country",
        "filters": filters,
    }
    return await call(port, owner.key, "POST", "/api/reports", body, source)


async def conversions(port: int, owner: Owner) -> int | None:
    """Return how many conversions the account has today; None if it cannot be told."""
    status, report = await report_of_today(port, owner, {})
    return int(report["totals"]["conversions"]) if status == "200" else None
