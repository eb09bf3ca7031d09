"""Clicks are found by id, and their ids are bytes again."""

from typing import Any

from tests.factories import create_click, make_click
from tracker.ids import new_id
from tracker.service.services import Services


async def test_stored_clicks_are_found_with_all_their_fields(
    services: Services,
) -> None:
    stored: list[Any] = [services.clicks.enrichment.document(make_click()) for _ in range(3)]
    await services.stores.mongodb["clicks"].insert_many(stored)
    wanted = {row["_id"]: row for row in stored[:2]}
    assert await services.clicks.clicks.find([*wanted, new_id().bytes]) == wanted


async def test_only_named_fields_are_read(services: Services) -> None:
    click_id = await create_click(services, account_id := new_id())
    one = click_id.bytes
    found: object = await services.clicks.clicks.find([one], ["account_id", "bot"])
    assert found == {one: {"_id": one, "account_id": account_id.bytes, "bot": None}}
    only_id: object = await services.clicks.clicks.find([one], ["_id"])
    assert only_id == {one: {"_id": one}}


async def test_no_ids_find_no_clicks(services: Services) -> None:
    assert await services.clicks.clicks.find([]) == {}
