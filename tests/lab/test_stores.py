"""The stores of a run, between its loads."""

from config.settings import Settings
from lab.stores import open_stores
from tracker.service.services import Services
from tracker.stores.mongodb import indexes

HOUR, MONTH = 3_600, 30 * 86_400


async def test_days_that_pass_take_what_expires_and_all_records(
    settings: Settings, services: Services
) -> None:
    redis, clicks = services.stores.redis, services.stores.mongodb["clicks"]
    for number in range(2_000):
        await redis.set(f"soon:{number}", "", ex=HOUR)
    await redis.set("later", "", ex=MONTH)
    await redis.set("always", "")
    await clicks.insert_one({"_id": 1})
    try:
        async with open_stores(settings) as stores:
            await stores.pass_days(3)
    finally:  # with its collections it drops their indexes, which later tests need
        await indexes.ensure(services.stores.mongodb.database)
    assert sorted(await redis.keys("soon:*")) == []
    assert await redis.exists("later", "always") == 2
    assert await clicks.find_one() is None
