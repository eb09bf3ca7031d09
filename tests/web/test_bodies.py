"""Limits of bodies: each endpoint's, and none beyond a few bytes before the key is checked."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import orjson
import pytest

from tests.factories import create_event_config
from tests.http.serving import Client as Connection
from tests.http.serving import client_of, serving
from tests.waiting import PATIENCE_SECONDS, eventually
from tests.web.client import Client, Response
from tests.web.each import each_case
from tests.web.records import journaled_events
from tests.web.world import World
from tracker import metrics
from tracker.access.api_keys import ApiKey
from tracker.accounts.accounts import Account
from tracker.limits.permits import PermitLimits, Permits
from tracker.service.app import make_app
from tracker.service.services import Services
from tracker.stores.redis import keys
from tracker.web import endpoint_handler
from tracker.web.incoming_body import EARLY_BYTES
from tracker.web.limits import (
    LARGE_BODY_BYTES,
    MAX_BODY_BYTES,
    MAX_EVENT_BYTES,
    MAX_IGNORED_BODY_BYTES,
)
from tracker.web.parameters import Parsed, parse_body

MIB = 1024 * 1024
LINKS = "/api/short-links"
BULK = f"{LINKS}/bulk"


@asynccontextmanager
async def connected(client: Client) -> AsyncIterator[Connection]:
    async with client_of(client.port) as connection:
        yield connection


def head(path: str, framing: str, fields: str = "", method: str = "POST") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: tracker.test\r\n{framing}\r\n{fields}\r\n".encode()


def declared(length: int) -> str:
    return f"Content-Length: {length}"


CHUNKED = "Transfer-Encoding: chunked"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@each_case(
    "method, path, limit",
    [
        ("POST", "/nothing", MAX_IGNORED_BODY_BYTES),
        ("PUT", "/c/abc", MAX_IGNORED_BODY_BYTES),
        ("GET", "/c/abc", MAX_IGNORED_BODY_BYTES),
        ("GET", "/healthz", MAX_IGNORED_BODY_BYTES),
        ("POST", "/metrics", MAX_IGNORED_BODY_BYTES),
        ("POST", "/api/event", MAX_EVENT_BYTES),
        ("OPTIONS", "/api/event", MAX_EVENT_BYTES),
    ],
)
async def test_a_public_path_rejects_a_long_body_before_it_is_sent(
    client: Client, method: str, path: str, limit: int
) -> None:
    for length in (limit + 1, 8 * MIB, 9 * MIB):
        async with connected(client) as connection:
            connection.send(head(path, declared(length), method=method))
            answer = await connection.answer()
            assert (answer.status, answer.all_of("Connection")) == (413, ["close"])
            assert orjson.loads(answer.body) == {"error": f"body: at most {limit} bytes"}
            assert answer.all_of("X-Request-Id")


@each_case(
    "path, limit, status",
    [("/nothing", MAX_IGNORED_BODY_BYTES, 404), ("/api/event", MAX_EVENT_BYTES, 400)],
)
async def test_a_body_is_read_up_to_its_limit_however_it_is_framed(
    client: Client, path: str, limit: int, status: int
) -> None:
    body = b" " * limit
    in_chunks = head(path, CHUNKED) + chunk(b" " * 1024) * (limit // 1024)
    for raw, expected in (
        (head(path, declared(limit)) + body, status),
        (in_chunks + chunk(b""), status),
        (in_chunks + b"1\r\n \r\n", 413),
    ):
        async with connected(client) as connection:
            connection.send(raw)
            answer = await connection.answer()
        assert answer.status == expected
    assert answer.all_of("Connection") == ["close"]
    assert orjson.loads(answer.body) == {"error": f"body: at most {limit} bytes"}


@pytest.mark.parametrize("framing", [declared(MIB), CHUNKED])
async def test_a_long_body_is_not_received_before_its_key_is_checked(
    world: World, framing: str
) -> None:
    # With a wrong key the answer is 401 before the body is sent, without the scope 403; with a
    # valid key it is received.
    reader = await world.key(world.account, scopes=["links:read"])
    begun = chunk(b" " * (EARLY_BYTES + 1)) if framing == CHUNKED else b""
    expects = "" if begun else "Expect: 100-continue\r\n"
    for key, status in (("trk_unknown", 401), (reader, 403), (world.secret, 100)):
        fields = f"Authorization: Bearer {key}\r\n{expects}"
        async with connected(world.client) as connection:
            connection.send(head(BULK, framing, fields) + begun)
            if begun and status == 100:
                connection.send(chunk(b""))
                status = 400
            assert (await connection.answer()).status == status


async def test_a_body_that_is_too_long_is_rejected_after_the_key_and_with_the_rate_limits(
    world: World,
) -> None:
    for method, limit in (("POST", MAX_BODY_BYTES), ("GET", MAX_IGNORED_BODY_BYTES)):
        for key, status in (("trk_unknown", 401), (world.secret, 413)):
            async with connected(world.client) as connection:
                fields = f"Authorization: Bearer {key}\r\n"
                connection.send(head(LINKS, declared(limit + 1), fields, method))
                answer = await connection.answer()
                assert answer.status == status
                assert answer.all_of("X-Ratelimit-Remaining")
        sent: dict[str, str | bytes] = {"Authorization": f"Bearer {world.secret}"}
        response = await world.client.request(method, LINKS, sent, b" " * limit)
        assert (response.status, response.error.partition(":")[0]) == (
            (400, "body") if method == "POST" else (400, "accountId")
        )


async def test_a_body_in_chunks_that_grows_too_long_after_the_key_is_rejected(world: World) -> None:
    counted = keys.rate_limit("account", str(world.account.id))
    async with connected(world.client) as connection:
        fields = f"Authorization: Bearer {world.secret}\r\n"
        connection.send(head(LINKS, CHUNKED, fields) + chunk(b" " * (EARLY_BYTES + 1)))
        await eventually(lambda: world.services.stores.redis.exists(counted))
        connection.send(chunk(b" " * MAX_BODY_BYTES))
        assert (await connection.answer()).status == 413


@pytest.mark.parametrize(("length", "times"), [(EARLY_BYTES, 1), (EARLY_BYTES + 1, 2)])
async def test_only_a_key_whose_body_is_received_later_is_read_again_and_nothing_counts_twice(
    world: World, monkeypatch: pytest.MonkeyPatch, length: int, times: int
) -> None:
    read = []
    authenticate = world.services.access.api_keys.authenticate

    async def counted(sent: str) -> ApiKey:
        read.append(sent)
        return await authenticate(sent)

    monkeypatch.setattr(world.services.access.api_keys, "authenticate", counted)
    for left in ("99", "98"):
        response = await world.client.post(
            BULK, b" " * length, Authorization=f"Bearer {world.secret}"
        )
        assert response.status == 400
        assert response.headers["X-RateLimit-Remaining"] == left
    assert read == [world.secret] * 2 * times


async def test_a_large_body_is_parsed_beside_the_event_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def parse(kind: type[msgspec.Struct], body: bytes) -> Parsed[msgspec.Struct]:
        threads.append(threading.current_thread() is threading.main_thread())
        return parse_body(kind, body)

    monkeypatch.setattr(endpoint_handler, "parse_body", parse)
    for length in (LARGE_BODY_BYTES, LARGE_BODY_BYTES + 1):
        response = await world.client.post(
            LINKS, b"[" + b" " * (length - 2) + b"]", Authorization=f"Bearer {world.secret}"
        )
        assert (response.status, response.error) == (400, "body: must be a JSON object")
    assert threads == [True, False]


async def test_one_account_parses_one_large_body_at_once_and_a_few_wait(world: World) -> None:
    permits = Permits("body", "large bodies", PermitLimits(1, 1, 1, 5), 60)
    world.services.web = world.services.web._replace(large_bodies=permits)

    async def post() -> Response:
        body, key = b" " * MAX_BODY_BYTES, f"Bearer {world.secret}"
        return await world.client.post(LINKS, body, Authorization=key)

    async with permits.permit(world.other_account.id):
        waiting = asyncio.create_task(post())
        await eventually(lambda: permits._waiting._in_flight[world.account.id] == 1)
        refused = await post()
    assert refused.status == 429
    assert refused.error == "body: 1 large bodies of the account are under way; try again"
    assert (await waiting).status == 400


async def test_a_rejected_short_body_keeps_the_connection_open(client: Client) -> None:
    async with connected(client) as connection:
        for path, status in ((LINKS, 401), ("/nothing", 404), ("/healthz", 405)):
            for raw in (
                head(path, declared(EARLY_BYTES)) + b" " * EARLY_BYTES,
                head(path, CHUNKED) + chunk(b"{}") + chunk(b""),
            ):
                connection.send(raw)
                answer = await connection.answer()
                assert (answer.status, answer.all_of("Connection")) == (status, [])


@each_case("kind", ["application/x-www-form-urlencoded", "multipart/form-data"])
async def test_only_events_parse_a_body_as_a_form(client: Client, kind: str) -> None:
    # Tornado would answer 400 to a form with too many fields or of another media type.
    body = b"&a=1" * 5000
    for path, status in (("/nothing", 404), ("/c/abc", 404), ("/readyz", 405), (LINKS, 401)):
        response = await client.post(path, body, Content_Type=kind)
        assert response.status == status


async def test_an_event_query_beyond_the_limit_is_rejected_unparsed(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    start = f"pbk={config.pbk}&x="
    longest = start + "x" * (MAX_EVENT_BYTES - len(start))
    assert (await world.client.get(f"/api/event?{longest}")).status == 200
    for method in ("GET", "POST"):
        response = await world.client.request(method, f"/api/event?{longest}x")
        assert (response.status, response.error) == (413, f"query: at most {MAX_EVENT_BYTES} bytes")
        assert response.headers["Access-Control-Allow-Origin"] == "*"
    image = await world.client.get(f"/api/event?{longest}x", Accept="image/*")
    assert (image.status, image.headers["Content-Type"]) == (413, "image/gif")
    assert len(await journaled_events(world.services)) == 1


async def test_unfinished_bodies_share_a_memory_limit_and_the_oldest_is_dropped(
    services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    body = orjson.dumps({"pbk": config.pbk, "x": "x" * 900})
    app = make_app(services, bodies_bytes=2048)
    memory = app._memory  # type: ignore[attr-defined]
    dropped = metrics.BODIES_DROPPED._value.get()
    async with (
        serving(app) as (_, port),
        client_of(port) as slow,
        client_of(port) as slower,
        client_of(port) as quick,
    ):
        for connection, held in ((slow, 900), (slower, 1800)):
            connection.send(head("/api/event", declared(len(body))) + body[:900])
            await eventually(lambda held=held: memory.used == held)  # type: ignore[misc]
        quick.send(head("/api/event", declared(len(body))) + body[:500])
        await eventually(lambda: memory.used == 1400)
        assert metrics.BODIES_DROPPED._value.get() == dropped + 1
        for connection, sent, status in ((quick, 500, 200), (slow, 900, 503), (slower, 900, 200)):
            connection.send(body[sent:])
            answer = await connection.answer()
            assert answer.status == status
            assert answer.all_of("Retry-After") == (["1"] if status == 503 else [])
        assert memory.used == 0


async def test_a_body_is_freed_when_its_client_disconnects(services: Services) -> None:
    app = make_app(services)
    memory = app._memory  # type: ignore[attr-defined]
    async with serving(app) as (_, port), client_of(port) as client:
        client.send(head("/api/event", declared(1000)) + b"x" * 999)
        await eventually(lambda: memory.used == 999)
        client.cut()
        await eventually(lambda: memory.used == 0)


async def test_a_client_that_leaves_before_its_body_is_complete_leaves_no_handler(
    world: World,
) -> None:
    _, secret = await world.services.access.api_keys.create(world.account.id, "A")
    before = asyncio.all_tasks()

    def handlers() -> list[asyncio.Task[Any]]:
        new = asyncio.all_tasks() - before
        return [one for one in new if "RequestHandler._execute" in repr(one.get_coro())]

    _, writer = await asyncio.open_connection("127.0.0.1", world.client.port)
    head = f"POST /api/reports HTTP/1.1\r\nHost: tracker.test\r\nAuthorization: Bearer {secret}\r\n"
    writer.write(head.encode() + f"Content-Length: {EARLY_BYTES + 1}\r\n\r\n{{".encode())
    await eventually(lambda: bool(handlers()))
    waiting = handlers()
    writer.close()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.wait(waiting)
