"""Clicks are found by id, and their ids are UUIDs again."""

from tests.factories import create_click, make_click
from tracker.db.documents import as_read
from tracker.ids import new_id
from tracker.service.services import Services


async def test_stored_clicks_are_found_with_all_their_fields(
    services: Services,
) -> None:
    stored = [dict(services.enrichment.document(make_click())) for _ in range(3)]
    await services.database["clicks"].insert_many(stored)
    wanted = {row["_id"]: row for row in map(as_read, stored[:2])}
    assert await services.clicks.find([*wanted, new_id()]) == wanted


async def test_only_named_fields_are_read(services: Services) -> None:
    click_id = await create_click(services, account_id := new_id())
    found = await services.clicks.find([click_id], ["account_id", "bot"])
    assert found == {click_id: {"_id": click_id, "account_id": account_id, "bot": None}}
    assert await services.clicks.find([click_id], ["_id"]) == {click_id: {"_id": click_id}}


async def test_no_ids_find_no_clicks(services: Services) -> None:
    assert await services.clicks.find([]) == {}
