"""The way of a click: the clicks that led to it, and those that it led to."""

from typing import Final
from uuid import UUID

from tracker.feeds.clicks import StoredClick
from tracker.feeds.feed import Feed
from tracker.stores.mongodb.reads import MongoReads

MAX_STEPS: Final = 10
"""Clicks of each side."""

_MAX_EXAMINED: Final = 1000
"""Anyone may name a click, so only the first to do so are looked at."""


async def earlier_clicks(
    feed: Feed[StoredClick], account_id: UUID, click: StoredClick
) -> list[StoredClick]:
    """Return the clicks that led to a click, the oldest first."""
    found: list[StoredClick] = []
    while click.parent_id and click.parent_link_id and len(found) < MAX_STEPS:
        parents = await feed.find_all(account_id, [click.parent_id])
        if not parents:  # retention has deleted it
            break
        [click] = parents
        found.append(click)
    return found[::-1]


async def later_clicks(
    reads: MongoReads, feed: Feed[StoredClick], account_id: UUID, click_id: UUID
) -> list[StoredClick]:
    """Return the clicks that a click led to, by those in between too, the oldest first."""
    found: list[UUID] = []
    ids = [click_id]
    while ids and len(found) < MAX_STEPS:
        named, fields = {"parent_id": {"$in": ids}}, ["account_id", "parent_link_id"]
        rows = await reads.find("clicks", named, fields, sort={"_id": 1}, limit=_MAX_EXAMINED)
        own = [one for one in rows if one["account_id"] == account_id and "parent_link_id" in one]
        ids = [one["_id"] for one in own]
        found += ids
    return sorted(await feed.find_all(account_id, found[:MAX_STEPS]), key=lambda one: one.at)
