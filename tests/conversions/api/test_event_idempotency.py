"""`POST /api/event` with an Idempotency-Key: one conversion and one answer, whatever breaks."""

import asyncio
import contextlib
from typing import Any

import orjson
import pytest
from pymongo.errors import AutoReconnect

from tests.conversions.scene import drained, stored_events
from tests.factories import create_event_config
from tests.ingest import ledger
from tests.web.client import Response
from tests.web.records import journaled_events
from tests.web.world import World
from tracker.access import idempotency
from tracker.access.idempotency import FirstAnswers
from tracker.access.rate_limit import LimitScope
from tracker.conversions.event_config import EventConfig
from tracker.ids import new_id

JSON = {"Content-Type": "application/json"}


async def sent(world: World, key: str = "k", target: str = "/api/event", **body: Any) -> Response:
    return await world.client.request(
        "POST", target, {**JSON, "Idempotency-Key": key}, orjson.dumps(body)
    )


async def a_config(world: World, **fields: Any) -> EventConfig:
    return await create_event_config(world.services, world.account.id, **fields)


async def recorded(world: World) -> list[dict[str, Any]]:
    """Drain, check all sums, and return the stored conversions."""
    await drained(world.services)
    await ledger.check(world.services)
    return await stored_events(world.services)


async def test_a_repeat_gets_the_first_answer_also_once_its_click_is_known(world: World) -> None:
    pbk, click_id = (await a_config(world)).pbk, str(new_id())
    first = await sent(world, pbk=pbk, value=3, click_id=click_id)
    assert "Idempotency-Replayed" not in first.headers
    repeated = await sent(world, '"k"', pbk=pbk, value=3, click_id=click_id)
    assert (repeated.status, repeated.body) == (200, first.body)
    assert repeated.headers["Idempotency-Replayed"] == "true"
    assert repeated.headers["X-Event-Id"] == first.headers["X-Event-Id"]
    assert len(await recorded(world)) == 1


async def test_a_key_belongs_to_one_request_of_one_postback_key(world: World) -> None:
    pbk = (await a_config(world)).pbk
    await sent(world, pbk=pbk, value=3)
    for other in (
        await sent(world, pbk=pbk, value=4),
        await sent(world, target="/api/event?value=3", pbk=pbk),
    ):
        assert other.status == 400
        assert other.headers["X-Error-Code"] == "idempotency_key_reused"
    another = (await a_config(world)).pbk
    assert (await sent(world, pbk=another, value=3)).status == 200
    assert (await sent(world, "K", pbk=pbk, value=3)).status == 200
    assert len(await recorded(world)) == 3


async def test_of_twenty_at_once_one_is_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without turns as from several processes: all append one id, which drains store once."""

    @contextlib.asynccontextmanager
    async def no_turn(*_: object) -> Any:
        yield

    pbk = (await a_config(world)).pbk
    for key in "ab":
        answers = await asyncio.gather(*(sent(world, key, pbk=pbk, value=3) for _ in range(20)))
        assert {one.status for one in answers} == {200}
        assert len({one.body for one in answers}) == 1
        monkeypatch.setattr(idempotency, "turn_of", no_turn)
    assert len(await recorded(world)) == 2


@pytest.mark.parametrize("fields", [{}, {"transaction_id": "T1"}, {"status": "pending"}], ids=str)
@pytest.mark.parametrize("is_drained", [False, True])
async def test_a_conversion_whose_answer_was_not_kept_is_recorded_under_the_same_id(
    world: World, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], is_drained: bool
) -> None:
    pbk = (await a_config(world)).pbk
    body: dict[str, Any] = {"pbk": pbk, "value": 3, "click_id": str(new_id()), **fields}

    async def break_down(*_: object) -> None:
        raise AutoReconnect

    with monkeypatch.context() as patch:
        patch.setattr(FirstAnswers, "keep", break_down)
        cut = await sent(world, **body)
    assert cut.status == 503
    assert cut.headers["Retry-After"]
    if is_drained:
        await drained(world.services)
    answered = await sent(world, **body)
    assert answered.status == 200
    assert "duplicate" not in answered.json()
    assert "updated" not in answered.json()
    [event] = await recorded(world)
    assert event["_id"] == answered.json()["eventId"]
    assert event.get("repeats", 0) == 0


async def test_a_repeated_transaction_id_is_a_duplicate_in_every_answer(world: World) -> None:
    pbk = (await a_config(world)).pbk
    await sent(world, "a", pbk=pbk, value=3, transaction_id="T1")
    answers = [await sent(world, "b", pbk=pbk, value=3, transaction_id="T1") for _ in range(2)]
    assert [one.json()["duplicate"] for one in answers] == [True, True]
    assert [one.headers["X-Event-Duplicate"] for one in answers] == ["true", "true"]
    assert len(await recorded(world)) == 1


async def test_a_refused_conversion_uses_no_key(world: World) -> None:
    pbk = (await a_config(world)).pbk
    assert (await sent(world, pbk="unknown", value=3)).status == 404
    assert (await sent(world, pbk=pbk, value="much")).status == 400
    assert (await sent(world, "no key", pbk=pbk, value=3)).status == 400
    assert await world.services.stores.mongodb["first_answers"].count_documents({}) == 0
    assert (await sent(world, pbk=pbk, value=3)).status == 200


async def test_a_key_is_ignored_without_a_postback_key_and_the_answer_says_so(
    world: World,
) -> None:
    for _ in range(2):
        answer = (await sent(world, click_id=str(new_id()))).json()
        assert answer["warnings"] == ["Idempotency-Key: ignored without pbk; send a transaction_id"]
    assert len(await journaled_events(world.services)) == 2


async def test_strangers_who_know_a_postback_key_use_up_nobody_elses_keys(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "_NEW_KEYS", LimitScope("idempotency_key", 1, 60))
    pbk, other = [(await a_config(world)).pbk for _ in range(2)]
    assert [(await sent(world, key, pbk=pbk)).status for key in "ab"] == [200, 429]
    assert (await sent(world, pbk=other)).status == 200
    link = {"accountId": str(world.account.id), "destination_url": "https://example.com/"}
    headers = {**JSON, "Authorization": f"Bearer {world.secret}", "Idempotency-Key": "k"}
    made = await world.client.request("POST", "/api/short-links", headers, orjson.dumps(link))
    assert made.status == 200


async def test_a_conversion_without_a_key_asks_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("once", "keep", "reserve"):
        monkeypatch.delattr(FirstAnswers, name)
    body = orjson.dumps({"pbk": (await a_config(world)).pbk})
    assert (await world.client.request("POST", "/api/event", JSON, body)).status == 200
