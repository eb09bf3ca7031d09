"""Requests that are repeated with their Idempotency-Key have one effect and one answer."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.client import Response
from tests.web.each import each, each_case
from tests.web.ends import a_key, narrow, revoke
from tests.web.person import signed_in
from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import Request, World
from tracker.access import idempotency
from tracker.access.idempotency import FirstAnswers, parse_key
from tracker.access.rate_limit import LimitScope
from tracker.access.roles import Role
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.jobs.files import PIECE_BYTES
from tracker.stores.mongodb.account_lock import turn_of
from tracker.stores.secret_box import Purpose, SecretBox

IDEMPOTENT: Final = [one for one in KEYED_ENDPOINTS if one.idempotent]
REQUESTS: Final = 20
RULE: Final = "Idempotency-Key: must be 1 to 255 visible ASCII characters"
LINK: Final = {"destination_url": "https://example.com/offer"}


async def sent(world: World, request: Request, key: str, secret: str = "") -> Response:
    headers: dict[str, str | bytes] = {
        "Authorization": f"Bearer {secret or world.secret}",
        "Idempotency-Key": key,
    }
    of = request.endpoint
    return await world.client.request(of.method, request.path, headers, request.body)


def code(response: Response) -> tuple[int, str]:
    return response.status, response.headers.get("X-Error-Code", "")


async def made(world: World, key: str = "k", secret: str = "", **fields: Any) -> Response:
    """Create a link with a key."""
    [endpoint] = [one for one in IDEMPOTENT if one.path == "/api/short-links"]
    example = {**LINK, **fields}
    request = Request(endpoint._replace(example=example), [], world.account.id)
    return await sent(world, request, key, secret)


async def links(world: World) -> int:
    mine = {"account_id": world.account.id}
    return await world.services.stores.mongodb["links"].count_documents(mine)


def test_what_creates_links_conversions_webhooks_and_imports_takes_a_key() -> None:
    assert {f"{one.method} {one.path}" for one in IDEMPOTENT} == {
        "POST /api/short-links",
        "POST /api/short-links/bulk",
        "POST /api/webhooks",
        "POST /api/imports",
        "POST /api/conversions/upload",
    }


@each(IDEMPOTENT)
async def test_a_repeat_gets_the_first_answer_and_changes_nothing(
    world: World, endpoint: Any
) -> None:
    request = await world.request(endpoint, world.account)
    first = await sent(world, request, "k")
    assert (first.status, first.headers.get("Idempotency-Replayed")) == (200, None), first
    before = await world.stored()
    for key in ("k", '"k"'):
        repeated = await sent(world, request, key)
        assert repeated.body == first.body
        assert (repeated.status, repeated.headers["Idempotency-Replayed"]) == (200, "true")
        assert repeated.headers["Content-Type"] == first.headers["Content-Type"]
    if endpoint.receive is not None:  # deletes what was received again
        await _until_no_other_file(world)
    after = await world.stored()
    assert after == before
    other = await sent(world, request, "another")
    assert (other.status, other.json() == first.json()) in ((200, False), (400, False))


async def _until_no_other_file(world: World) -> None:
    stored = world.services.stores.mongodb["job_files"]
    async with asyncio.timeout(20):
        while len(await stored.distinct("_id.file")) > 1:
            await asyncio.sleep(0)


@each(IDEMPOTENT)
async def test_of_requests_with_one_key_at_once_one_has_an_effect(
    world: World, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without turns they conflict in MongoDB, as those of several processes do."""
    collection = {"short-links": "links", "conversions": "uploads"}.get(
        endpoint.path.split("/")[2], endpoint.path.split("/")[2]
    )
    stored = world.services.stores.mongodb[collection]
    for number, turn in enumerate((turn_of, _no_turn)):
        monkeypatch.setattr(idempotency, "turn_of", turn)
        request = await world.request(endpoint, world.account)
        before = await stored.count_documents({"account_id": world.account.id})
        answers = await asyncio.gather(
            *(sent(world, request, f"k{number}") for _ in range(REQUESTS))
        )
        answered = [one for one in answers if one.status == 200]
        assert answered, answers
        assert len({one.body for one in answered}) == 1
        assert {one.status for one in answers} <= {200, 503}
        assert sum("Idempotency-Replayed" not in one.headers for one in answered) <= 1
        assert all("Retry-After" in one.headers for one in answers if one.status == 503)
        after = await stored.count_documents({"account_id": world.account.id})
        assert after - before == 1
        if collection == "uploads":  # only one may be at work
            await stored.delete_many({"account_id": world.account.id})


@contextlib.asynccontextmanager
async def _no_turn(*_: object) -> AsyncIterator[None]:
    yield


async def test_a_key_belongs_to_one_request_of_one_caller(world: World) -> None:
    first = await made(world)
    reused = (400, "idempotency_key_reused")
    assert code(await made(world, internal_name="another body")) == reused
    [bulk] = [one for one in IDEMPOTENT if one.path.endswith("/bulk")]
    other_path = await sent(world, await world.request(bulk, world.account), "k")
    assert code(other_path) == reused
    another_key = await world.key(world.account)
    for response in (await made(world, "K"), await made(world, secret=another_key)):
        assert response.status == 200
        assert response.json()["id"] != first.json()["id"]
    assert await links(world) == 3


async def test_a_refused_request_uses_no_key(world: World) -> None:
    refused = await made(world, slug="no slug")
    assert code(refused) == (400, "bad_request")
    assert await world.services.stores.mongodb["first_answers"].count_documents({}) == 0
    assert (await made(world, slug="spring")).status == 200


async def test_a_repeat_is_answered_even_if_it_would_be_refused_now(world: World) -> None:
    first = await made(world, slug="spring")
    await world.api.delete(f"/api/short-links/{first.json()['id']}?accountId={world.account.id}")
    assert (await made(world, slug="spring")).body == first.body


async def test_a_repeat_needs_the_access_of_its_first_request(world: World) -> None:
    holder = await a_key(world)
    secret = holder.fields["Authorization"].removeprefix("Bearer ")
    first = await made(world, secret=secret)
    assert (await made(world, secret=secret)).body == first.body
    await narrow(holder)
    world.services.access.api_keys.valid.verified = False  # as if another process had
    assert code(await made(world, secret=secret)) == (403, "missing_scope")
    await revoke(holder)
    assert (await made(world, secret=secret)).status == 401


async def test_a_repeat_under_another_limit_to_tags_is_another_request(world: World) -> None:
    tag = (await world.services.links.tags.create(world.account.id, "Mine")).id
    person = await signed_in(
        world.services, world.client, world.account.id, Role.EDITOR, tags=[tag]
    )
    body = orjson.dumps({"accountId": str(world.account.id), **LINK, "tags": [str(tag)]})
    key = {"Idempotency-Key": "k"}
    send = partial(person.send_raw, "POST", "/api/short-links", body, key)
    assert [(await send()).status for _ in range(2)] == [200, 200]
    members = world.services.stores.mongodb["members"]
    await members.update_many({}, {"$set": {"tags": [tag, new_id()]}})
    assert code(await send()) == (400, "idempotency_key_reused")


async def test_a_first_request_that_runs_too_long_is_waited_for_and_then_503(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()
    keep = FirstAnswers.keep

    async def keep_later(self: FirstAnswers, *of: Any) -> None:
        began.set()
        await goes_on.wait()
        await keep(self, *of)

    monkeypatch.setattr(FirstAnswers, "keep", keep_later)
    monkeypatch.setattr(idempotency, "WAIT_SECONDS", 0.05)
    first = asyncio.create_task(made(world))
    await began.wait()
    waited = await made(world)
    assert code(waited) == (503, "unavailable")
    assert waited.headers["Retry-After"]
    monkeypatch.setattr(idempotency, "WAIT_SECONDS", 10)
    second = asyncio.create_task(made(world))
    goes_on.set()
    assert (await first).body == (await second).body
    assert await links(world) == 1


async def test_secrets_of_kept_answers_are_sealed_and_the_key_is_not_stored(world: World) -> None:
    answers, box = world.services.web.answers, SecretBox([os.urandom(32)], Purpose.ANSWER)
    answers._box = box
    [webhooks] = [one for one in IDEMPOTENT if one.path == "/api/webhooks"]
    request = await world.request(webhooks, world.account)
    first = await sent(world, request, "the-key-itself")
    [row] = (await world.stored())["first_answers"]
    assert row["answer"].startswith("enc:v1:")
    assert "the-key-itself" not in repr(row)
    assert (await sent(world, request, "the-key-itself")).json()["secret"].startswith("whsec_")
    answers._box = SecretBox([os.urandom(32)], Purpose.ANSWER)
    unreadable = await sent(world, request, "the-key-itself")
    assert unreadable.error == "Idempotency-Key: SECRET_KEY has changed since the answer"
    assert unreadable.status == 503
    assert first.status == 200


async def test_a_file_is_stored_for_one_request_of_a_key_only(world: World) -> None:
    [upload] = [one for one in IDEMPOTENT if one.path == "/api/conversions/upload"]
    request = await world.request(upload, world.account)
    assert (await sent(world, request, "k")).status == 200
    for key, expected in (("k", "idempotency_key_reused"), ("no key", "bad_request")):
        headers = {"Authorization": f"Bearer {world.secret}", "Idempotency-Key": key}
        other = bytes(PIECE_BYTES + 1)
        answer = await world.client.post(request.path, other, **headers)
        assert code(answer) == (400, expected)
    await _until_no_other_file(world)


async def test_a_caller_has_a_bound_of_new_keys(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = LimitScope("idempotency_key", 2, 24 * 3600)
    monkeypatch.setattr(idempotency, "_NEW_KEYS", scope)
    assert [(await made(world, key)).status for key in "abca"] == [200, 200, 429, 200]
    assert (await made(world, "c", await world.key(world.account))).status == 200
    limited = await made(world, "c")
    assert code(limited) == (429, "rate_limited")
    assert 0 < int(limited.headers["Retry-After"]) <= scope.window_seconds
    assert (await world.api.post("/api/short-links", **_own(world, LINK))).status == 200


def _own(world: World, fields: dict[str, Any]) -> dict[str, Any]:
    return {"accountId": str(world.account.id), **fields}


async def test_a_request_without_a_key_asks_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("once", "keep", "reserve"):
        monkeypatch.delattr(FirstAnswers, name)
    assert (await world.api.post("/api/short-links", **_own(world, LINK))).status == 200


@each_case(
    "key",
    ["", "a b", "ä", "k" * 256, '"', '""', '"a', 'a"b" c', '"a b"', '"\\n"', f'"{"k" * 256}"'],
)
async def test_a_key_that_breaks_the_rule_is_refused(world: World, key: str) -> None:
    assert (await made(world, key)).error == RULE


def test_a_key_that_is_sent_twice_is_refused() -> None:
    with pytest.raises(BadRequest, match="visible ASCII"):
        parse_key(["a", "a"])
    assert parse_key([]) is None


_VISIBLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=255)


@given(_VISIBLE)
def test_a_key_is_the_same_bare_and_in_quotes(key: str) -> None:
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_key([f'"{escaped}"']) == key
    if not key.startswith('"'):
        assert parse_key([key]) == key
