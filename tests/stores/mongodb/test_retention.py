"""Clicks are deleted after the time that is set, and days that lost clicks are remembered."""

import asyncio
from datetime import timedelta

import pytest

from tests.waiting import PATIENCE_SECONDS
from tracker.clock import day_of, now
from tracker.service.services import Services
from tracker.stores.mongodb import indexes
from tracker.stores.mongodb.retention import first_complete_day, set_click_retention


async def expiry(services: Services) -> int | None:
    """Return the seconds after which the index deletes clicks, None if it does not exist."""
    made = await services.stores.mongodb["clicks"].index_information()
    return made["expiry"]["expireAfterSeconds"] if "expiry" in made else None


async def test_each_start_sets_how_long_clicks_are_kept(
    services: Services,
) -> None:
    for days, seconds in ((0, None), (30, 2_592_000), (30, 2_592_000), (90, 7_776_000), (0, None)):
        await set_click_retention(services.stores.mongodb.database, days)
        assert await expiry(services) == seconds


@pytest.mark.parametrize("days", [0, 30])
async def test_a_start_does_not_wait_for_the_open_transaction_of_a_killed_drain(
    services: Services, days: int
) -> None:
    """MongoDB ends it after a minute only, and no drain runs before the start is prepared."""
    await set_click_retention(services.stores.mongodb.database, days)
    async with (
        await services.stores.mongodb.client.start_session() as session,
        session.start_transaction(),
    ):
        await services.stores.mongodb["clicks"].insert_one({"_id": 1}, session=session)
        await asyncio.wait_for(prepared(services, days), PATIENCE_SECONDS)
    await set_click_retention(services.stores.mongodb.database, 0)


async def prepared(services: Services, days: int) -> None:
    await indexes.ensure(services.stores.mongodb.database)
    await set_click_retention(services.stores.mongodb.database, days)


@pytest.mark.parametrize(
    ("set_to", "kept_days"),
    [([], None), ([0], None), ([30], 29), ([30, 90], 29), ([90, 30], 29), ([30, 0], 29), ([1], 0)],
)
async def test_a_day_that_was_not_kept_once_is_never_complete_again(
    services: Services, set_to: list[int], kept_days: int | None
) -> None:
    today = now()
    for days in set_to:
        await set_click_retention(services.stores.mongodb.database, days)
    first = await first_complete_day(services.stores.mongodb.database)
    if kept_days is None:
        assert first == ""
    else:  # the test may begin before midnight and end after it
        assert first in [day_of(one - timedelta(days=kept_days)) for one in (today, now())]
    await set_click_retention(services.stores.mongodb.database, 0)
