"""A request that is authenticated, and whose last byte is held back."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from tests.http.serving import Answer, client_of
from tests.web.client import HOST, Client
from tracker.web.incoming_body import EARLY_BYTES


@asynccontextmanager
async def held(
    client: Client, method: str, path: str, fields: Mapping[str, str], body: bytes
) -> AsyncIterator[Callable[[], Awaitable[Answer]]]:
    """Yield a function that sends the last byte and returns the answer.

    The body is made long enough to be received after the checks, by spaces at its end.
    """
    body += b" " * (EARLY_BYTES + 1 - len(body))
    sent = {"Host": HOST, "Content-Length": len(body), "Expect": "100-continue", **fields}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
    async with client_of(client.port) as connection:
        connection.send("\r\n".join([*lines, "", ""]).encode())
        assert (await connection.answer()).status == 100
        connection.send(body[:-1])

        async def finish() -> Answer:
            connection.send(body[-1:])
            return await connection.answer()

        yield finish
