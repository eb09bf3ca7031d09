"""An attack from inside: a key that is revoked acts through requests that were begun before."""

import asyncio
from collections import Counter
from typing import Final

import orjson

from lab.abuse.attack import Report, Target, counted, made
from lab.requests import ANSWER_SECONDS, NO_ANSWER, call, connect, head

_BODIES: Final = 50
_BODY_BYTES: Final = 33 * 1024
"""A length that is received after its request is authenticated."""

_HOLD_SECONDS: Final = 20.0
"""The longest that bodies are held open: they have thirty seconds."""

_END: Final = b"\r\n\r\n"

_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def held_body(target: Target, seconds: float) -> Report:
    """Begin requests with a key that may make keys, revoke it, and send their last bytes."""
    port, owner = target.port, target.attacker
    fields = {"accountId": owner.account_id, "name": "held", "scopes": ["keys:write"]}
    key = await made(port, owner.key, "/api/keys", fields)
    body = orjson.dumps(fields).ljust(_BODY_BYTES)
    begun = [await _begin(port, key["key"], body[:-1]) for _ in range(_BODIES)]
    revoked, _ = await call(port, owner.key, "DELETE", f"/api/keys/{key['id']}")
    await asyncio.sleep(min(seconds, _HOLD_SECONDS))
    answers = Counter(await asyncio.gather(*(_finish(one, body[-1:]) for one in begun)))
    return counted({**answers, f"revocation {revoked}": 1}, {"401", "revocation 200"})


async def _begin(port: int, key: str, body: bytes) -> _Connection:
    reader, writer = await connect(port)
    fields = {
        "Authorization": f"Bearer {key}",
        "Content-Length": str(len(body) + 1),
        "Expect": "100-continue",
    }
    writer.write(head("POST", "/api/keys", fields))
    async with asyncio.timeout(ANSWER_SECONDS):
        answer = await reader.readuntil(_END)
    if not answer.startswith(b"HTTP/1.1 100 "):
        raise ConnectionError(answer.partition(b"\r")[0].decode("latin-1"))
    writer.write(body)
    return reader, writer


async def _finish(connection: _Connection, last: bytes) -> str:
    reader, writer = connection
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            writer.write(last)
            return (await reader.readuntil(_END))[9:12].decode("latin-1")
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return NO_ANSWER
    finally:
        writer.transport.abort()
