"""A command connection is kept, and replaced when Redis is unavailable, hangs or comes back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tests.stores.redis.own_redis import own_redis, unavailable_redis
from tests.stores.relay import relay
from tracker.service.services import Services
from tracker.stores.redis import clients
from tracker.stores.redis.command_connection import RedisCommandConnection

pytestmark = pytest.mark.redis


async def test_each_command_gets_its_answer(services: Services) -> None:
    direct = RedisCommandConnection(services.stores.redis)
    assert await direct.execute("SET", "a", b"1") == b"OK"
    with pytest.raises(ResponseError):
        await direct.execute("INCRBY", "a", "no number")
    assert await direct.execute("GET", "a") == b"1"


async def test_a_lost_connection_is_replaced_unnoticed(tmp_path: Path) -> None:
    with own_redis(tmp_path) as server:
        client = clients.redis_for_requests(server.url)
        direct = RedisCommandConnection(client)
        assert await direct.execute("SET", "a", b"1") == b"OK"
        server.kill()
        server.start()
        assert await direct.execute("GET", "a") == b"1"
        await client.aclose()


async def test_a_command_whose_answer_is_lost_is_repeated_only_if_it_may_be(
    services: Services,
) -> None:
    async with relay(services.settings.redis_url) as way:
        client = clients.redis_for_requests(f"redis://127.0.0.1:{way.port}")
        repeating, once = (
            RedisCommandConnection(client, repeats=repeats) for repeats in (True, False)
        )
        for direct in (repeating, once):
            await direct.execute("PING")
        way.cut_at(b"INCR", arrives=True, times=1)
        assert await repeating.execute("INCR", "many") == 2
        way.cut_at(b"INCR", arrives=True, times=1)
        with pytest.raises(RedisError):
            await once.execute("INCR", "one")
        assert await once.execute("GET", "one") == b"1"
        await client.aclose()


async def test_an_unavailable_redis_is_an_error_at_once() -> None:
    client = clients.redis_for_requests(unavailable_redis())
    direct = RedisCommandConnection(client)
    for _ in range(2):
        with pytest.raises(RedisError):
            await direct.execute("PING")
    await client.aclose()


async def test_an_answer_that_comes_too_late_is_not_taken_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "REQUEST_TIMEOUT_SECONDS", 0.2)
    with own_redis(tmp_path) as server:
        client = clients.redis_for_requests(server.url)
        direct = RedisCommandConnection(client)
        await direct.execute("SET", "a", b"late")
        server.freeze()
        with pytest.raises(RedisTimeoutError):
            await direct.execute("GET", "a")
        waiting = asyncio.ensure_future(direct.execute("GET", "a"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        server.thaw()
        for number in range(3):
            assert await direct.execute("ECHO", str(number)) == str(number).encode()
        await client.aclose()


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[RedisCommandConnection]:
    """Yield a connection to a server that sends `answer` to each command, byte by byte."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while asked := await reader.read(1000):
            greetings = b"+OK\r\n" * (asked.count(b"CLIENT") + asked.count(b"\nINFO\r"))
            for byte in greetings or answer:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        client = clients.redis_for_requests(f"redis://127.0.0.1:{port}")
        yield RedisCommandConnection(client)
        await client.aclose()
        server.close()


async def test_an_answer_may_come_in_pieces() -> None:
    async with answering(b"*2\r\n$3\r\none\r\n:2\r\n") as direct:
        for _ in range(3):
            assert await direct.execute("ANY") == [b"one", 2]


async def test_an_answer_to_no_command_is_not_taken_for_the_next(services: Services) -> None:
    """A proxy in front of Redis might send such an answer."""
    direct = RedisCommandConnection(services.stores.redis)
    assert await direct.execute("ECHO", "first") == b"first"
    dedicated = direct._dedicated
    assert dedicated is not None
    dedicated.data_received(b"+second\r\n")
    assert dedicated.is_lost
    assert await direct.execute("ECHO", "third") == b"third"
    dedicated = direct._dedicated
    assert dedicated is not None
    asking = asyncio.ensure_future(direct.execute("ECHO", "fourth"))
    await asyncio.sleep(0)
    dedicated.data_received(b"+one\r\n+more than one\r\n")
    assert await asking == b"fourth"
