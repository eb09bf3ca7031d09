"""The sums of the rollups, beside those recounted from the stored clicks and events."""

from collections import Counter, defaultdict
from uuid import UUID

from tracker.accounts.time_zones import zones_from_row
from tracker.reports.rollups.layout import DRAIN_NUMBER, RollupId, Sums, stored_sums
from tracker.reports.rollups.rollup import Rollup
from tracker.service.services import Services


async def recounted(services: Services) -> dict[RollupId, Sums]:
    accounts = services.stores.mongodb["accounts"].find()
    calendars = {row["_id"].bytes: zones_from_row(row).calendar async for row in accounts}
    rollup = Rollup(calendars)
    async for click in services.stores.mongodb["clicks"].find():
        rollup.add_click(click)
    async for event in services.stores.mongodb["events"].find():
        rollup.add_event(event)
    return rollup.sums()


async def counted(services: Services) -> dict[RollupId, Sums]:
    """Return the sums of each rollup over its drain numbers, without zeros."""
    found: defaultdict[RollupId, Counter[str]] = defaultdict(Counter)
    async for row in services.stores.mongodb["rollups"].find():
        key = {name: value for name, value in row["_id"].items() if name != DRAIN_NUMBER}
        found[RollupId(**key)].update(stored_sums(row))
    kept = {
        key: {path: number for path, number in sums.items() if number}
        for key, sums in found.items()
    }
    return {key: sums for key, sums in kept.items() if sums}


async def totals(services: Services) -> Counter[str]:
    """Return the sums of all accounts and days by measure; money in billionths."""
    together: Counter[str] = Counter()
    for key, sums in (await counted(services)).items():
        if key.of.split()[0] == "account":
            together.update(
                {path[6:]: number for path, number in sums.items() if path.startswith("total.")}
            )
    return together


async def check(services: Services) -> None:
    """Check that the rollups equal the stored documents."""
    assert await counted(services) == await recounted(services)


async def notified(services: Services) -> list[tuple[UUID, int]]:
    """Return the webhook and the event of each delivery."""
    rows = services.stores.mongodb["deliveries"].find({"click_ids": None}).sort("event_id")
    return [(row["webhook_id"], row["event_id"]) async for row in rows]


async def told_clicks(services: Services) -> list[tuple[UUID, UUID]]:
    """Return the webhook and the id of each click in a delivery."""
    rows = services.stores.mongodb["deliveries"].find({"click_ids": {"$ne": None}})
    return [
        (row["webhook_id"], UUID(bytes=row["click_ids"][at : at + 16]))
        async for row in rows
        for at in range(0, len(row["click_ids"]), 16)
    ]
