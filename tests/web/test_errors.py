"""Every error has the same shape and a request id, and reveals nothing internal."""

import asyncio
import re
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import orjson
import pymongo
import pytest
from pymongo.errors import (
    ExecutionTimeout,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
)

from tests.factories import create_link
from tests.suspended import suspended
from tests.web.client import Client
from tests.web.each import each_case
from tests.web.fixtures import Logged
from tests.web.world import World
from tracker.access.rate_limit import RateLimiter
from tracker.clock import now
from tracker.service.services import Services
from tracker.stores.mongodb import transaction


@each_case("path", ["/c", "/api/click/", "/API/event", "//"])
async def test_an_unknown_path_is_404_for_every_method(client: Client, path: str) -> None:
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"):
        response = await client.request(method, path)
        assert (response.status, response.error) == (404, "no such path")
    for method in ("HEAD", "OPTIONS"):
        assert (await client.request(method, path)).status == 404


async def test_an_asterisk_is_a_valid_target_of_options_only(client: Client) -> None:
    assert (await client.request("OPTIONS", "*")).status == 404
    response = await client.get("*")
    assert response.status == 400
    assert response.error.startswith("request target: ")


@each_case(
    "raw, status, code, error",
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400, "malformed_request", "Host: must be there, once"),
        (b"nonsense\r\n\r\n", 400, "malformed_request", "request line: must be method, target"),
        (b"GET / HTTP/2.0\r\n\r\n", 505, "version_not_supported", "HTTP version: must be 1.0"),
        (
            *(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
            *("not_implemented", "Transfer-Encoding: only chunked is supported"),
        ),
        (
            *(b"GET /%b HTTP/1.1\r\n\r\n" % (b"a" * 60_000), 414, "target_too_long"),
            "request target: at most 57344 bytes",
        ),
        (
            *(b"GET / HTTP/1.1\r\nA: %b\r\n\r\n" % (b"a" * 70_000), 431, "header_too_large"),
            "header: at most 65536 bytes",
        ),
    ],
)
async def test_errors_before_any_handler_have_the_same_shape(
    client: Client, raw: bytes, status: int, code: str, error: str
) -> None:
    response = await client.sent(raw)
    assert (response.status, response.headers["X-Error-Code"]) == (status, code)
    assert response.error.startswith(error)


@each_case(
    "method, path, allowed",
    [
        ("PUT", "/api/short-links", "GET, HEAD, POST"),
        ("TRACE", "/api/short-links", "GET, HEAD, POST"),
        ("POST", "/api/short-links/x", "GET, HEAD, PATCH, DELETE"),
        ("PROPFIND", "/api/short-links/bulk", "POST, PATCH"),
        ("POST", "/healthz", "GET, HEAD"),
        ("POST", "/readyz", "GET, HEAD"),
        ("DELETE", "/api/event", "GET, POST, OPTIONS"),
        ("GET", "/api/consent", "POST, OPTIONS"),
        ("PUT", "/c/abc", "GET, HEAD, OPTIONS"),
    ],
)
async def test_a_wrong_method_is_answered_with_the_allowed_ones(
    client: Client, method: str, path: str, allowed: str
) -> None:
    response = await client.request(method, path)
    assert (response.status, response.error) == (405, f"method not allowed; allowed: {allowed}")
    assert response.headers["Allow"] == allowed


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (RuntimeError("the inside"), 500, "internal error"),
        (OperationFailure("the inside"), 500, "internal error"),
        (asyncio.CancelledError("the inside"), 500, "internal error"),
        (ServerSelectionTimeoutError("the inside"), 503, "storage is unavailable; try again"),
    ],
)
async def test_an_internal_error_reveals_nothing_and_is_logged_under_the_request_id(
    world: World,
    logged: Logged,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    message: str,
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(world.services.clicks.redirect, "answer", fail)
    monkeypatch.setattr(world.services.links.lists, "page", fail)
    links = f"/api/short-links?accountId={world.account.id}"
    key = {"Authorization": f"Bearer {world.secret}"}
    for path, cached in (("/c/abc", "no-store"), ("/api/click?s=abc", "no-store"), (links, None)):
        response = await world.client.request("GET", path, {"X_Request_Id": "known-id", **key})
        assert (response.status, response.error) == (status, message)
        assert response.headers["X-Request-Id"] == "known-id"
        assert response.headers.get("Cache-Control") == cached
        failed, request = logged()
        assert failed["request_id"] == request["request_id"] == "known-id"
        assert request["status"] == status
        assert failed["level"] == ("error" if status == 500 else "warning")
        assert ("the inside" in failed.get("exception", "")) == (status == 500)


@pytest.mark.parametrize(
    "error",
    [
        ExecutionTimeout("operation exceeded time limit", 50),
        NetworkTimeout("timed out"),
        WaitQueueTimeoutError("no connection is free"),
    ],
)
async def test_a_search_beyond_its_limit_of_time_is_answered_and_logged_as_that(
    world: World, logged: Logged, monkeypatch: pytest.MonkeyPatch, error: PyMongoError
) -> None:
    """MongoDB is there: it answers others."""

    async def fail(*given: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(world.services.links.lists, "page", fail)
    response = await world.client.get(
        f"/api/short-links?accountId={world.account.id}&search=x",
        Authorization=f"Bearer {world.secret}",
    )
    assert (response.status, response.error) == (
        503,
        "this took longer than 5 seconds; ask for less, or try again",
    )
    assert response.headers["X-Error-Code"] == "time_limit"
    assert response.headers["Retry-After"] == "5"
    reached, _ = logged()
    assert (reached["level"], reached["event"]) == ("warning", "a time limit was reached")
    assert reached["route"] == "/api/short-links"


async def test_a_search_while_mongodb_hangs_is_answered_and_logged_as_unavailable(
    world: World, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the driver it is a time limit, until it has noticed."""
    pid = (await world.services.stores.mongodb.client.admin.command("serverStatus"))["pid"]
    page = world.services.links.lists.page
    path = f"/api/short-links?accountId={world.account.id}&search=x"

    async def hanging(*given: Any, **named: Any) -> Any:
        stack.enter_context(suspended(pid))
        with pymongo.timeout(0.2):
            return await page(*given, **named)

    # Afterwards the driver knows the server.
    assert (await world.client.get(path, Authorization=f"Bearer {world.secret}")).status == 200
    monkeypatch.setattr(world.services.links.lists, "page", hanging)
    with ExitStack() as stack:
        response = await world.client.get(path, Authorization=f"Bearer {world.secret}")
    assert (response.status, response.error) == (503, "storage is unavailable; try again")
    assert response.headers["X-Error-Code"] == "unavailable"
    _, told, _ = logged()
    assert (told["level"], told["event"]) == ("warning", "MongoDB is unavailable")


async def test_a_change_that_conflicts_for_too_long_may_be_tried_again(
    world: World, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "RETRY_SECONDS", 0.0)
    key = await world.services.access.api_keys.authenticate(world.secret)
    async with (
        await world.services.stores.mongodb.client.start_session() as other,
        other.start_transaction(),
    ):
        held = {"$inc": {"held": 1}}
        await world.services.stores.mongodb["api_keys"].update_one(
            {"_id": key.id}, held, session=other
        )
        response = await world.client.request(
            "DELETE", f"/api/keys/{key.id}", {"Authorization": f"Bearer {world.secret}"}
        )
        await other.abort_transaction()
    assert (response.status, response.headers["X-Error-Code"]) == (503, "unavailable")
    assert response.error == "too many changes at once; try again"
    assert [line["level"] for line in logged() if line["event"] != "request"] == ["warning"]


async def test_a_failing_event_is_a_pixel_for_an_image(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(conversion: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(services.conversions.recorder, "record", fail)
    response = await client.get("/api/event?pbk=x", Accept="image/*")
    assert (response.status, response.headers["Content-Type"]) == (500, "image/gif")
    assert response.headers["Access-Control-Allow-Origin"] == "*"


VALID_ID = "0190b5a2-7c1e:A_b.c-9"
OTHER_IDS = ["", "a b", "a" * 129, "<script>", "caf\u00e9", "a,b", "{}", "a\tb"]


async def test_a_valid_request_id_is_used_and_any_other_replaced(client: Client) -> None:
    for path in ("/healthz", "/none", "/c/none", "/api/event"):
        response = await client.request("TRACE", path, {"X_Request_Id": VALID_ID})
        assert response.headers.get_list("X-Request-Id") == [VALID_ID]
        for sent in OTHER_IDS:
            response = await client.request("GET", path, {"X_Request_Id": sent})
            assert re.fullmatch("[0-9a-f]{32}", response.headers["X-Request-Id"])


async def test_every_answer_is_logged_once_without_query_key_or_address(
    world: World, logged: Logged
) -> None:
    await create_link(world.services, world.account.id)
    logged()
    responses = [
        await world.client.get("/c/abc?email=visitor@x.test", X_Forwarded_For="203.0.113.77"),
        await world.client.post(
            "/api/short-links?k=1", b"{}", Authorization=f"Bearer {world.secret}"
        ),
        await world.client.get("/api/event?pbk=postback-key&sub=personal"),
        await world.client.request("TRACE", "/none?q=personal"),
    ]
    records = logged()
    assert [record["event"] for record in records] == ["request"] * 4
    assert [record["request_id"] for record in records] == [
        response.headers["X-Request-Id"] for response in responses
    ]
    assert [(record["path"], record["status"]) for record in records] == [
        ("/c/abc", 302),
        ("/api/short-links", 400),
        ("/api/event", 404),
        ("/none", 404),
    ]
    text = orjson.dumps(records).decode()
    for private in (
        "visitor@",
        "personal",
        "postback-key",
        world.secret,
        "203.0.113.77",
        "127.0.0.1",
    ):
        assert private not in text


async def test_a_malformed_request_does_not_put_an_address_into_the_log(
    client: Client, logged: Logged
) -> None:
    assert (await client.raw(b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n")).startswith(
        b"HTTP/1.1 400"
    )
    assert "127.0.0.1" not in orjson.dumps(logged()).decode()


CODES: list[tuple[str, str, dict[str, str], str]] = [
    ("GET", "/nothing", {}, "unknown_path"),
    ("GET", "/docs/nothing", {}, "not_found"),
    ("PUT", "/api/event", {}, "method_not_allowed"),
    ("BREW", "/healthz", {}, "method_not_allowed"),
    ("GET", "/api/event", {}, "bad_request"),
    ("GET", "/api/event", {"Accept": "image/gif"}, "bad_request"),
    ("GET", "/api/event?pbk=unknown", {}, "not_found"),
    ("GET", "/c/unknown", {}, "not_found"),
    ("GET", "/c/unknown", {"Accept": "text/html"}, "not_found"),
    ("HEAD", "/c/unknown", {}, "not_found"),
    ("GET", "/api/short-links", {}, "unauthorized"),
    ("GET", "/api/short-links", {"Authorization": "Bearer trk_unknown"}, "unauthorized"),
]


@each_case("method, path, sent, code", CODES)
async def test_every_error_has_a_code_for_programs(
    client: Client, method: str, path: str, sent: dict[str, str], code: str
) -> None:
    response = await client.request(method, path, sent)
    assert response.status >= 400
    assert response.headers.get_list("X-Error-Code") == [code]


async def test_errors_with_the_same_status_have_different_codes(world: World) -> None:
    _, reading_secret = await world.services.access.api_keys.create(
        world.account.id, "r", scopes=["links:read"]
    )
    revoked, revoked_secret = await world.services.access.api_keys.create(
        world.account.id, "revoked"
    )
    await world.services.access.api_keys.revoke(revoked.id)
    _, expired = await world.services.access.api_keys.create(
        world.account.id, "expired", expires_at=now() - timedelta(seconds=1)
    )

    async def code(key: str, path: str = "/api/tags", name: str = "Spring") -> str:
        body = orjson.dumps({"accountId": str(world.account.id), "name": name})
        response = await world.client.post(path, body, Authorization=f"Bearer {key}")
        return response.headers.get("X-Error-Code", "")

    assert await code(world.secret) == ""
    assert await code(world.secret) == "already_taken"
    assert await code(world.secret, name="") == "bad_request"
    assert await code(reading_secret) == "missing_scope"
    assert await code(revoked_secret) == "key_revoked"
    assert await code(expired) == "key_expired"
    world.services.web = world.services.web._replace(
        rate_limiter=RateLimiter(world.services.stores.redis, world.services.stores.breaker, 1, 0)
    )
    assert [await code(world.secret, name="2"), await code(world.secret)][1] == "rate_limited"
