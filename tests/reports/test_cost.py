"""The documents read for a report: rollups by days and slots, or by days, slots and links touched,
however many clicks and links there are; clicks and events only of the range, if at all.

The profiler notes what was read while the code ran.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from tests.db.profiler import profiled
from tests.factories import Document, create_link, make_click_document, make_event_document
from tracker.ids import new_id
from tracker.reports.query import Query
from tracker.reports.rollup import Rollup
from tracker.service.services import Services

FIRST = date(2026, 1, 1)
DAYS, SLOTS, LINKS = 4, 2, 30


class Scene(NamedTuple):
    """`LINKS` of each of three accounts, with a click and an event a day, half of them before
    `FIRST`. `tag_id` is that of two."""

    services: Services
    account_id: UUID
    tag_id: UUID
    links: Sequence[UUID]

    async def read(self, group_by: Any, **filters: Any) -> dict[str, int]:
        """Return the documents that a report of the second half reads, by collection."""
        query = Query(
            account_id=self.account_id,
            first=FIRST,
            last=FIRST + timedelta(DAYS - 1),
            group_by=group_by,
            filters=filters,
        )
        async with profiled(self.services.database) as rows:
            report = await self.services.reports.run(query)
        assert report.totals.clicks
        assert not any("COLLSCAN" in row["planSummary"] for row in rows)
        return {row["ns"].partition(".")[2]: row["docsExamined"] for row in rows}


async def set_the_scene(services: Services) -> Scene:
    accounts = [new_id() for _ in range(3)]
    tag_id = (await services.tags.create(accounts[0], "A")).id
    links = [
        await create_link(
            services,
            account_id,
            slug=None,
            tags=[tag_id] if account_id == accounts[0] and number < 2 else [],
        )
        for account_id in accounts
        for number in range(LINKS)
    ]
    clicks = [click(link.account_id, link.id, day) for link in links for day in range(-DAYS, DAYS)]
    events = [
        make_event_document(number, **(row | {"_id": number, "status": "attributed"}))
        for number, row in enumerate(clicks, 1)
    ]
    await services.database["clicks"].insert_many(clicks)
    await services.database["events"].insert_many(events)
    await store_rollups(services, clicks)
    return Scene(services, accounts[0], tag_id, [link.id for link in links[:LINKS]])


def click(account_id: UUID, link_id: UUID, day: int) -> Document:
    at = datetime(2026, 1, 1, 9, tzinfo=UTC) + timedelta(day)
    return make_click_document(account_id=account_id, link_id=link_id, at=at, os="iOS")


async def store_rollups(services: Services, clicks: Sequence[dict[str, Any]]) -> None:
    """Store the same rollups in every slot."""
    rollup = Rollup()
    for one in clicks:
        rollup.add_click(one)
    for slot in range(SLOTS):
        await services.database.command(
            "update",
            "rollups",
            updates=list(rollup.updates(slot)),
            codec_options=services.database.codec_options,
        )


async def test_a_report_of_the_whole_account_reads_a_document_for_each_day_and_slot(
    services: Services,
) -> None:
    scene = await set_the_scene(services)
    for group_by in ("device", "country", "browser", "os", "day", "hour", "domain", "event"):
        assert (await scene.read(group_by))["rollups"] == DAYS * SLOTS
    assert await scene.read("day", os=["iOS"]) == {"rollups": DAYS * SLOTS}
    assert await scene.read("domain", domain=["tracker.test"]) == {"rollups": DAYS * SLOTS}


async def test_a_report_of_links_reads_a_document_for_each_day_and_slot_of_each(
    services: Services,
) -> None:
    scene = await set_the_scene(services)
    two = list(scene.links[:2])
    for group_by in ("device", "day", "hour", "domain", "event"):
        assert (await scene.read(group_by, link=two))["rollups"] == 2 * DAYS * SLOTS
    read = await scene.read("country", tag=[scene.tag_id])
    # The index alone tells which links have the tag.
    assert read == {"links": 0, "rollups": 2 * DAYS * SLOTS}
    assert await scene.read("link", link=two) == {"links": 2, "rollups": 2 * DAYS * SLOTS}
    # And two links to know their tags, one tag to know its name.
    assert await scene.read("tag", link=two) == {"rollups": 2 * DAYS * SLOTS + 2, "tags": 1}
    read = await scene.read("device", domain=["tracker.test"])
    assert read == {"rollups": LINKS * DAYS * SLOTS}


async def test_a_report_that_crosses_dimensions_reads_the_clicks_and_events_of_its_days(
    services: Services,
) -> None:
    scene = await set_the_scene(services)
    # The profiler counts events twice, as all that $unionWith reads.
    every = LINKS * DAYS
    assert await scene.read("os", device=["mobile"]) == {"clicks": every + 2 * every}
    assert await scene.read("hour", device=["mobile"]) == {"clicks": every + 2 * every}
    # Of one link only its clicks, and the account's events.
    read = await scene.read("os", device=["mobile"], link=list(scene.links[:1]))
    assert read == {"clicks": DAYS + 2 * every}
