"""`/api/event` for pixels, browsers and servers."""

import orjson
import pytest

from tests.conversions.api.reporting import (
    EVERY_WAY,
    JSON,
    Send,
    by_form,
    by_json,
    by_query,
    clicked,
    drained,
)
from tests.factories import create_event_config
from tests.syntax.accept_fields import IMAGES, NAVIGATIONS
from tests.web.client import Client
from tests.web.records import journaled_events
from tests.web.world import World
from tracker.ids import new_id

GIF = b"GIF89a\x01\x00\x01\x00"


@EVERY_WAY
async def test_a_conversion_is_recorded_by_every_method_and_format(
    world: World, send: Send
) -> None:
    config = await create_event_config(world.services, world.account.id)
    metadata = {"plan": "caf\u00e9", "deep": {"n": 1}}
    response = await send(
        world.client, {"pbk": config.pbk, "value": 12.5, "metadata": metadata, "sub1": "ignored"}
    )
    assert response.status == 200
    answer = response.json()
    (event,) = await journaled_events(world.services)
    pending = {"clickStatus": "pending", "clickNamed": False}
    assert answer == {"success": True, "eventId": event.id, **pending}
    assert 0 < event.id < 2**53
    assert event.event_config_id == config.id.bytes
    assert event.account_id == world.account.id.bytes
    assert (event.value, event.payout) == ("12.5", "2.50")
    assert orjson.loads(event.metadata or "") == metadata


@EVERY_WAY
async def test_every_answer_may_be_read_by_any_origin_and_is_never_cached(
    client: Client, send: Send
) -> None:
    response = await send(client, {"value": 1})
    assert response.status == 400
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert response.headers["Cache-Control"] == "no-store"
    assert "X-Event-Id" not in response.headers


async def test_the_status_says_whether_the_click_is_stored(world: World) -> None:
    click_id = await clicked(world.services, world.client, world.account)
    assert (await by_query(world.client, {"click_id": click_id})).json()["clickStatus"] == "pending"
    await drained(world.services)
    response = await by_query(world.client, {"click_id": click_id.upper()})
    assert response.json()["clickStatus"] == "found"
    assert response.headers["X-Event-Id"] == str(response.json()["eventId"])


@EVERY_WAY
async def test_a_misspelt_name_is_told_and_pending_says_whether_a_click_was_named(
    world: World, send: Send
) -> None:
    config = await create_event_config(world.services, world.account.id)
    for name, named in (("cid", False), ("click_id", True)):
        answer = (
            await send(world.client, {"pbk": config.pbk, name: str(new_id()), "a": "b"})
        ).json()
        assert (answer["clickStatus"], answer["clickNamed"]) == ("pending", named)
        told = None if named else ["cid: ignored; did you mean click_id?"]
        assert answer.get("warnings") == told


@EVERY_WAY
async def test_an_alias_of_the_configuration_stands_for_a_parameter_by_every_method_and_format(
    world: World, send: Send
) -> None:
    aliases = {"cid": "click_id", "payout": "value", "tid": "transaction_id"}
    config = await create_event_config(world.services, world.account.id, parameter_aliases=aliases)
    click_id = new_id()
    sent = {"pbk": config.pbk, "cid": str(click_id), "payout": 12.5, "tid": "T-1"}
    response = await send(world.client, sent)
    assert response.json()["clickNamed"] is True
    assert "warnings" not in response.json()
    (event,) = await journaled_events(world.services)
    assert (event.click_id, event.value) == (click_id.bytes, "12.5")
    assert event.transaction_id == "T-1"
    other = await send(world.client, {**sent, "click_id": str(new_id())})
    assert (other.status, other.error) == (400, "cid: differs from the click_id that was sent too")


@pytest.mark.parametrize("alias", ["transaction_id", "txid"])
async def test_a_transaction_id_is_recorded_once(world: World, alias: str) -> None:
    config = await create_event_config(world.services, world.account.id)
    first = await by_json(world.client, {"pbk": config.pbk, "transaction_id": "T-1"})
    again = await by_query(world.client, {"pbk": config.pbk, alias: "T-1", "value": 3})
    await drained(world.services)
    late = await by_form(world.client, {"pbk": config.pbk, alias: "T-1"})
    assert again.json() == late.json() == {**first.json(), "duplicate": True}
    for response, repeated in ((first, None), (again, "true"), (late, "true")):
        assert response.headers.get("X-Event-Duplicate") == repeated
    assert await world.services.stores.mongodb["events"].count_documents({}) == 1
    assert await journaled_events(world.services) == []


@pytest.mark.parametrize("accept", IMAGES.values(), ids=IMAGES.keys())
async def test_an_image_element_gets_a_pixel_with_the_status_of_the_answer(
    world: World, accept: str
) -> None:
    config = await create_event_config(world.services, world.account.id)
    shown = await world.client.get(f"/api/event?pbk={config.pbk}", Accept=accept)
    refused = await world.client.get("/api/event", Accept=accept)
    unknown = await world.client.get("/api/event?pbk=unknown", Accept=accept)
    responses = (shown, refused, unknown)
    assert [response.status for response in responses] == [200, 400, 404]
    for response in responses:
        assert response.body.startswith(GIF)
        assert response.headers["Content-Type"] == "image/gif"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    (event,) = await journaled_events(world.services)
    assert shown.headers["X-Event-Id"] == str(event.id)


@pytest.mark.parametrize("accept", [*NAVIGATIONS.values(), "*/*", "", JSON])
async def test_other_clients_get_json(world: World, accept: str) -> None:
    config = await create_event_config(world.services, world.account.id)
    response = await world.client.get(f"/api/event?pbk={config.pbk}", Accept=accept)
    assert response.headers["Content-Type"] == "application/json; charset=utf-8"
    assert response.json()["success"] is True


async def test_a_post_is_answered_with_json_whatever_it_accepts(client: Client) -> None:
    response = await client.post("/api/event", b"{}", Accept="image/*")
    assert (response.status, response.error[:3]) == (400, "pbk")
