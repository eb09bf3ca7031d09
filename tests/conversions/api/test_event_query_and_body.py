"""`POST /api/event` with a query and a body: one request, in which the body counts."""

from collections.abc import Callable
from urllib.parse import urlencode
from uuid import UUID

import orjson
import pytest

from tests.conversions.api.reporting import FORM, JSON, form_data
from tests.factories import create_event_config
from tests.web.client import Response
from tests.web.each import each_case
from tests.web.records import journaled_events
from tests.web.world import World
from tracker.ids import new_id

BODIES: dict[str, Callable[[dict[str, str]], bytes]] = {
    JSON: orjson.dumps,
    "text/plain": orjson.dumps,
    FORM: lambda fields: urlencode(fields).encode(),
    "multipart/form-data; boundary=----x": lambda fields: form_data(fields),
}


@pytest.mark.parametrize("kind", BODIES)
async def test_query_and_body_are_one_request_and_the_body_counts_where_both_have_a_parameter(
    world: World, kind: str
) -> None:
    config = await create_event_config(
        world.services, world.account.id, parameter_aliases={"v": "value"}
    )
    click_id = str(new_id())
    query = f"pbk={config.pbk}&click_id={click_id.upper()}&v=3&txid=query&metadata=%7B"
    body = {"click_id": click_id, "transaction_id": "body", "pbk": config.pbk, "metadata": ""}
    sent = BODIES[kind]({**body, "a": "b"})
    refused = await world.client.post(f"/api/event?{query}", sent, Content_Type=kind)
    assert (refused.status, refused.error[:9]) == (400, "metadata:")
    query = query.removesuffix("&metadata=%7B")
    response = await world.client.post(f"/api/event?{query}", sent, Content_Type=kind)
    assert response.status == 200
    (event,) = await journaled_events(world.services)
    assert event.event_config_id == config.id.bytes
    assert (event.click_id, event.transaction_id) == (UUID(click_id).bytes, "body")
    assert event.value == "3"


async def test_of_a_value_in_query_and_body_only_that_of_the_body_is_read(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    target = f"/api/event?pbk={config.pbk}&value={{value}}&metadata=%7B"
    response = await world.client.post(target, b'{"value":7,"metadata":{"a":1}}')
    assert response.status == 200
    (event,) = await journaled_events(world.services)
    assert (event.value, event.metadata) == ("7", '{"a":1}')


@each_case("kind", BODIES)
async def test_query_and_body_may_not_name_two_postback_keys_or_two_clicks(
    world: World, kind: str
) -> None:
    one, other = [await create_event_config(world.services, world.account.id) for _ in range(2)]
    click_id = str(new_id())
    for name, fields in (
        ("pbk", {"pbk": other.pbk}),
        ("pbk", {"pbk": one.pbk.swapcase()}),
        ("click_id", {"click_id": str(new_id())}),
    ):
        target = f"/api/event?pbk={one.pbk}&click_id={click_id}"
        response = await world.client.post(target, BODIES[kind](fields), Content_Type=kind)
        assert response.status == 400
        assert response.error == f"{name}: differs between the query and the body"
    assert await journaled_events(world.services) == []


@pytest.mark.parametrize("kind", BODIES)
async def test_an_alias_may_not_name_two_clicks_either(world: World, kind: str) -> None:
    aliases = {"cid": "click_id", "tid": "transaction_id"}
    config = await create_event_config(world.services, world.account.id, parameter_aliases=aliases)
    click_id = str(new_id())

    async def sent(query: str, **fields: str) -> Response:
        target = f"/api/event?pbk={config.pbk}&{query}"
        return await world.client.post(target, BODIES[kind](fields), Content_Type=kind)

    refused = await sent(f"cid={new_id()}", cid=click_id)
    assert (refused.status, refused.error) == (400, "cid: differs between the query and the body")
    assert await journaled_events(world.services) == []
    assert (
        await sent(f"cid={click_id.upper()}&tid=a&x=1", cid=click_id, tid="b", x="2")
    ).status == 200
    (event,) = await journaled_events(world.services)
    assert (event.click_id, event.transaction_id) == (UUID(click_id).bytes, "b")
