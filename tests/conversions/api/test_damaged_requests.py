"""Fillers and damaged requests, as networks send them to `/api/event`."""

import orjson
import pytest

from tests.conversions.api.reporting import FORM, by_query, drained
from tests.factories import create_event_config
from tests.web.records import journaled_events
from tests.web.world import World
from tracker.conversions.document import REPEATED
from tracker.conversions.postbacks.aliases import SHARED_ID
from tracker.ids import new_id


async def test_a_filler_is_shared_by_all_and_loses_no_conversion(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    for filler in ("-", " ", "N/A", "(not set)", "null-null"):
        sent = {"pbk": config.pbk, "txid": filler}
        answers = [(await by_query(world.client, sent)).json() for _ in range(2)]
        assert not any("duplicate" in one for one in answers), filler
        assert all(one["warnings"] for one in answers), filler
    assert len(await journaled_events(world.services)) == 10


async def test_a_doubtful_id_is_told_once_it_repeats_with_another_click(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    clicks = [str(new_id()) for _ in range(2)]
    sent = [{"pbk": config.pbk, "txid": "0", "click_id": click_id} for click_id in clicks]
    first = (await by_query(world.client, sent[0])).json()
    await drained(world.services)
    again = [(await by_query(world.client, one)).json() for one in sent]
    assert "warnings" not in first
    assert again == [
        {**first, "duplicate": True},
        {**first, "duplicate": True, "warnings": [SHARED_ID]},
    ]
    await world.services.conversions.repeats.store()
    shown = await world.api.get(f"/api/conversions/{first['eventId']}")
    assert shown.json()["warnings"] == [REPEATED, SHARED_ID]


@pytest.mark.parametrize("kind", [FORM, "application/json", "text/plain"])
async def test_a_compressed_body_is_refused_and_listed(world: World, kind: str) -> None:
    config = await create_event_config(world.services, world.account.id)
    target = f"/api/event?pbk={config.pbk}"
    for headers in ({"Content_Encoding": "gzip"}, {}):
        response = await world.client.post(
            target, b"\x1f\x8b\x08\x00", Content_Type=kind, **headers
        )
        assert response.status == 400
        assert response.error.startswith("Content-Encoding: " if headers else "body: ")
    await world.services.conversions.refusals.store()
    listed = await world.api.get(f"/api/refused-postbacks?accountId={world.account.id}")
    assert listed.json()["counts"] == [{"reason": "request", "count": 2}]


async def test_a_damaged_address_counts_once_and_keeps_click_value_and_id(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    click_id = new_id()
    query = f"pbk={config.pbk}&amp;click_id={click_id}&amp;value=20&amp;txid=T-1"
    for repeated in (None, True):
        answer = (await world.client.get(f"/api/event?{query}")).json()
        assert (answer["clickNamed"], answer.get("duplicate")) == (True, repeated)
        assert answer["warnings"][0] == (
            "click_id: sent under the damaged name 'amp;click_id'; it was read"
        )
    body = orjson.dumps({"click_id": str(click_id), "value": "20", "txid": "T-1"})
    sent = await world.client.post(f"/api/event?pbk={config.pbk}", body, Content_Type=FORM)
    assert sent.json()["duplicate"] is True
    [event] = await journaled_events(world.services)
    assert (event.click_id, event.value) == (click_id.bytes, "20")
