"""The numbers of conversions of clicks, also of clicks that strangers have reported many for."""

from uuid import UUID

import pytest

from tests.factories import make_event_document
from tracker.feeds import conversions
from tracker.ids import new_id
from tracker.service.services import Services

ACCOUNT = new_id()


async def store(services: Services, click_id: UUID, number: int, **fields: object) -> None:
    first = await services.stores.mongodb["events"].count_documents({}) + 1
    given = {"account_id": ACCOUNT, "click_id": click_id, "status": "attributed", **fields}
    await services.stores.mongodb["events"].insert_many(
        [make_event_document(first + one, **given) for one in range(number)]
    )


@pytest.mark.parametrize("together", [50_000, 8, 3])
async def test_conversions_that_count_are_counted_for_each_click(
    services: Services, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(conversions, "_MAX_IN_ONE_QUERY", together)
    monkeypatch.setattr(conversions, "MAX_COUNTED", 5)
    many, one, none = (new_id() for _ in range(3))
    await store(services, many, 7)
    await store(services, one, 1)
    await store(services, one, 1, status="refused", refused="max_value")
    await store(services, one, 1, account_id=new_id(), status="foreign_click")
    found = await services.feeds.conversion_feed.count_of_clicks(ACCOUNT, [many, one, none])
    assert {click_id: number for click_id, number in found.items() if number} == {many: 5, one: 1}
