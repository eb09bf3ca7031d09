"""The documents read for a report: rollups by days and drains, or days, drains and links touched,
however many clicks and links there are. Clicks and events are read once, of the range.

The profiler notes what was read while the code ran.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from tests.factories import Document, create_link, make_click_document, make_event_document
from tests.reports.history import store_rollup
from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.reports.query import ReportQuery
from tracker.reports.rollups.rollup import Rollup
from tracker.service.services import Services

FIRST = date(2026, 1, 1)
DAYS, DRAIN_NUMBERS, LINKS = 4, 2, 30


class Scene(NamedTuple):
    """`LINKS` of each of three accounts, with a click and an event for each day and drain number,
    half of them before `FIRST`. `tag_id` is that of two."""

    services: Services
    account_id: UUID
    tag_id: UUID
    links: Sequence[UUID]

    async def read(
        self,
        group_by: Any,
        first: date = FIRST,
        last: date = FIRST + timedelta(DAYS - 1),
        **filters: Any,
    ) -> dict[str, int]:
        """Return the documents that a report reads, of the second half unless days are named."""
        query = ReportQuery(
            account_id=self.account_id,
            first=first,
            last=last,
            group_by=group_by,
            **(
                filters
                if "excluded" in filters or "containing" in filters
                else {"filters": filters}
            ),
        )
        async with profiled(self.services.stores.mongodb.database) as rows:
            report = await self.services.reports.reports.run(query)
        assert report.totals.clicks
        assert not any("COLLSCAN" in row["planSummary"] for row in rows)
        read: Counter[str] = Counter()
        for row in rows:
            read[row["ns"].partition(".")[2]] += row["docsExamined"]
        return {name: count for name, count in read.items() if name != "accounts"}


async def set_the_scene(services: Services) -> Scene:
    accounts = [new_id() for _ in range(3)]
    tag_id = (await services.links.tags.create(accounts[0], "A")).id
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
    for drain_number in range(DRAIN_NUMBERS):
        clicks = [
            click(link.account_id, link.id, day) for link in links for day in range(-DAYS, DAYS)
        ]
        events = [
            make_event_document(number, **(row | {"_id": number, "status": "attributed"}))
            for number, row in enumerate(clicks, 1 + drain_number * len(clicks))
        ]
        await services.stores.mongodb["clicks"].insert_many(clicks)
        await services.stores.mongodb["events"].insert_many(events)
        rollup = Rollup()
        for one in clicks:
            rollup.add_click(one)
        for one in events:
            rollup.add_event(one)
        await store_rollup(services, rollup, drain_number)
    return Scene(services, accounts[0], tag_id, [link.id for link in links[:LINKS]])


def click(account_id: UUID, link_id: UUID, day: int) -> Document:
    at = datetime(2026, 1, 1, 9, tzinfo=UTC) + timedelta(day)
    return make_click_document(account_id=account_id, link_id=link_id, at=at, os="iOS")


async def test_a_report_of_the_whole_account_reads_a_document_for_each_day_and_slot(
    services: Services,
) -> None:
    scene = await set_the_scene(services)
    for group_by in ("device", "country", "browser", "os", "day", "hour", "domain", "event"):
        assert (await scene.read(group_by))["rollups"] == DAYS * DRAIN_NUMBERS
    assert await scene.read("day", os=["iOS"]) == {"rollups": DAYS * DRAIN_NUMBERS}
    assert await scene.read("domain", domain=["tracker.test"]) == {"rollups": DAYS * DRAIN_NUMBERS}


async def test_a_report_of_links_reads_a_document_for_each_day_and_slot_of_each(
    services: Services,
) -> None:
    scene = await set_the_scene(services)
    two = list(scene.links[:2])
    for group_by in ("device", "day", "hour", "domain", "event"):
        assert (await scene.read(group_by, link=two))["rollups"] == 2 * DAYS * DRAIN_NUMBERS
    read = await scene.read("country", tag=[scene.tag_id])
    # The index alone tells which links have the tag.
    assert read == {"links": 0, "rollups": 2 * DAYS * DRAIN_NUMBERS}
    assert await scene.read("link", link=two) == {"links": 2, "rollups": 2 * DAYS * DRAIN_NUMBERS}
    # Without few links, those of the account are counted as any that are crossed.
    await scene.read("country", excluded={"tag": [scene.tag_id]})
    later = {"links": 0, "rollups": DAYS * DRAIN_NUMBERS, "joint_counts": 2 * DAYS}
    assert await scene.read("country", excluded={"tag": [scene.tag_id]}) == later
    # And two links to know their tags, one tag to know its name.
    assert await scene.read("tag", link=two) == {
        "rollups": 2 * DAYS * DRAIN_NUMBERS,
        "links": 2,
        "tags": 1,
    }


async def test_the_first_report_that_crosses_dimensions_reads_the_clicks_and_events_of_its_days(
    services: Services,
) -> None:
    scene = await set_the_scene(services)
    every = LINKS * DAYS * DRAIN_NUMBERS
    fingerprints = {"rollups": DAYS * DRAIN_NUMBERS}
    counted = {"clicks": every, "events": every, "joint_counts": 0}
    assert await scene.read("os", device=["mobile"]) == fingerprints | counted
    # Of one link only its clicks, and its rollups besides the account's.
    read = await scene.read("os", device=["mobile"], link=list(scene.links[:1]))
    assert (read["clicks"], read["rollups"]) == (DAYS * DRAIN_NUMBERS, DAYS * DRAIN_NUMBERS)


async def test_later_reports_read_two_documents_for_each_day_and_its_rollups(
    services: Services,
) -> None:
    scene = await set_the_scene(services)
    later = {"joint_counts": 2 * DAYS, "rollups": DAYS * DRAIN_NUMBERS}
    crossed: list[tuple[str, dict[str, Any]]] = [
        ("os", {"device": ["mobile"]}),
        ("hour", {"device": ["mobile"]}),
        ("day", {"country": ["DE"], "browser": ["Chrome"]}),
        ("referrer", {}),
        ("weekday", {"utm_source": ["none"]}),
        ("device", {"domain": ["tracker.test"]}),
        ("browser", {"excluded": {"device": ["tv"]}, "containing": {"domain": ["tracker"]}}),
    ]
    for group_by, filters in crossed:
        await scene.read(group_by, **filters)
        assert await scene.read(group_by, **filters) == later


async def test_a_later_report_by_link_reads_no_rollups_of_links(services: Services) -> None:
    scene = await set_the_scene(services)
    await scene.read("link")
    read = await scene.read("link")
    assert read == {"joint_counts": 2 * DAYS, "links": 25, "rollups": DAYS * DRAIN_NUMBERS}


async def test_a_month_that_is_over_is_read_as_one_document(services: Services) -> None:
    scene = await set_the_scene(services)
    year = {"first": date(2025, 1, 1), "last": date(2026, 1, 31)}
    await scene.read("os", **year, device=["mobile"])
    read = await scene.read("os", **year, device=["mobile"])
    assert read["joint_counts"] == 2 * 2  # December and January, of clicks and of events
