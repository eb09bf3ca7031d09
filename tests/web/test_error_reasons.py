"""What a 400 says to programs: `X-Error-Reason` and `X-Error-Field`, beside the code."""

from typing import Any

import orjson
import pytest

from tests.clicks.pages import report
from tests.factories import create_link
from tests.web.world import World
from tracker.sharing import views

URL = "https://shop.example/"
LINKS, EVENT = "/api/short-links", "/api/event"

CASES: list[tuple[str, str, dict[str, Any] | None, str, str]] = [
    ("POST", LINKS, {}, "required", "destination_url"),
    ("POST", LINKS, {"destination_url": 1}, "invalid_value", "destination_url"),
    ("POST", LINKS, {"destination_url": "shop"}, "invalid_value", "destination_url"),
    ("POST", LINKS, {"destination_url": URL, "slugg": "a"}, "unknown_field", "slugg"),
    ("POST", f"{LINKS}/bulk", {"links": [{}]}, "required", "links[0].destination_url"),
    (
        *("POST", f"{LINKS}/bulk", {"links": [{"destination_url": "shop"}]}),
        *("invalid_value", "links[0].destination_url"),
    ),
    ("POST", LINKS, {"destination_url": URL, "tags": "x\r\nA: b"}, "invalid_value", "tags"),
    ("GET", f"{LINKS}?slugg=a", None, "unknown_field", "slugg"),
    ("GET", f"{LINKS}?a%0D%0AX-Injected:%20b=a", None, "unknown_field", ""),
    ("GET", f"{LINKS}?pageSize=x", None, "invalid_value", "pageSize"),
    ("GET", f"{LINKS}/x", None, "invalid_value", "id"),
    ("GET", EVENT, None, "required", ""),  # pbk or click_id
    ("GET", f"{EVENT}?click_id=x", None, "invalid_value", "click_id"),
    ("GET", "/api/click", None, "required", "s"),
]


async def test_a_broken_rule_has_its_reason_and_its_field(world: World) -> None:
    for method, target, body, reason, field in CASES:
        fields = None if body is None else {"accountId": str(world.account.id), **body}
        answer = await world.api.send(method, target, orjson.dumps(fields) if fields else b"")
        assert (answer.status, answer.headers["X-Error-Code"]) == (400, "bad_request"), target
        told = [answer.headers.get(f"X-Error-{name}", "") for name in ("Reason", "Field")]
        assert told == [reason, field], (target, body)
        assert "X-Injected" not in answer.headers


async def test_what_is_taken_has_its_field_and_no_other_reason(world: World) -> None:
    await create_link(world.services, world.account.id, "abc")
    body = {"accountId": str(world.account.id), "destination_url": URL, "slug": "abc"}
    for answer, at in (
        (await world.api.post(LINKS, **body), ""),
        (
            await world.api.post(f"{LINKS}/bulk", accountId=body.pop("accountId"), links=[body]),
            "links[0].",
        ),
    ):
        assert (answer.status, answer.headers["X-Error-Code"]) == (400, "already_taken")
        assert answer.headers["X-Error-Field"] == f"{at}slug"
        assert "X-Error-Reason" not in answer.headers


async def test_an_account_with_as_many_as_it_may_has_reached_a_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MAX_OF_ACCOUNT", 1)
    view = {"accountId": str(world.account.id), "name": "a", "query": "groupBy=link"}
    assert (await world.api.post("/api/views", **view)).status == 200
    answer = await world.api.post("/api/views", **view)
    assert (answer.status, answer.headers["X-Error-Reason"]) == (400, "limit_reached")


async def test_pages_of_other_origins_may_read_them(world: World) -> None:
    of_event = await world.client.get(EVENT, Origin="https://shop.example")
    for answer in (of_event, await report(world.client, url=None)):
        assert answer.status == 400
        exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
        assert {"X-Error-Code", "X-Error-Reason", "X-Error-Field"} <= set(exposed)
