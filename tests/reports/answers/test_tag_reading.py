"""Reports by tags of many links are made of counts by tags, which are exact after any change."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from msgspec import structs

from tests.reports.answers.drawn import HOST, check, drawn, values
from tests.reports.counted import Counted
from tests.reports.documents_read import read
from tests.reports.history import FIRST, History, made, more, moved
from tracker.links.tags import CHANGE_TIME
from tracker.reports.query import GroupBy, ReportQuery
from tracker.service.services import Services

TODAY = FIRST + timedelta(1)
NOW = datetime(TODAY.year, TODAY.month, TODAY.day, 10, 59, tzinfo=UTC)

SetClock = Callable[[datetime], None]


@pytest.fixture(autouse=True)
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Make two links many, and return the function that sets the time; it is NOW at first."""
    for module in ("joint_counts.unfinished_day", "answers.reading", "answers.tag_reading"):
        monkeypatch.setattr(f"tracker.reports.{module}.FEW_ROLLUPS", 2)

    def set_to(at: datetime) -> None:
        monkeypatch.setattr("tracker.reports.joint_counts.scope.now", lambda: at)
        monkeypatch.setattr("tracker.links.tags.now", lambda: at)

    set_to(NOW)
    return set_to


@pytest.mark.parametrize("group_by", ["tag", "country", "hour", "day", "event", "referrer"])
async def test_every_report_by_tags_equals_a_count_one_by_one_whatever_lands_between(
    services: Services, group_by: GroupBy
) -> None:
    random = Random(group_by)
    history = await made(services, random)
    for _ in range(3):
        counted = Counted(history, HOST)
        for _ in range(12):
            query = drawn(random, history, group_by)
            of_tags = {**query.filters, "tag": values(random, history, "tag")}
            await check(services, counted, structs.replace(query, filters=of_tags))
            await check(services, counted, query_of(history, group_by, tag=of_tags["tag"]))
        history = await more(services, random, history)
        history = await moved(services, random, history)


def query_of(history: History, group_by: Any, **filters: Any) -> ReportQuery:
    return ReportQuery(
        account_id=history.account_id, group_by=group_by, filters=filters, first=FIRST, last=TODAY
    )


async def test_a_change_of_tags_is_in_every_report_from_then_on(
    services: Services, set_clock: SetClock
) -> None:
    random = Random(1)
    history = await made(services, random)
    tags = sorted({tag for tags in history.tags.values() for tag in tags})
    await check(services, Counted(history, HOST), query_of(history, "tag"))
    link_id = next(one for one, tags in history.tags.items() if tags)
    other = next(one for one in tags if one not in history.tags[link_id][:1])
    for number, changed in enumerate([[], [other], history.tags[link_id]]):
        set_clock(NOW + 3 * number * CHANGE_TIME)
        await services.links.links.change(link_id, {"tags": changed})
        history = history._replace(tags={**history.tags, link_id: changed})
        for moment in (0, 1, 2):
            set_clock(NOW + (3 * number + moment) * CHANGE_TIME)
            for group_by in ("tag", "country", "tag"):
                query = query_of(history, group_by)
                if group_by == "country":
                    query = query_of(history, group_by, tag=[other])
                await check(services, Counted(history, HOST), query)


async def test_a_tag_that_is_removed_from_all_links_is_in_no_later_report(
    services: Services,
) -> None:
    history = await made(services, Random(2))
    tag_id = next(tag for tags in history.tags.values() for tag in tags)
    await check(services, Counted(history, HOST), query_of(history, "tag"))
    await services.links.links.untag(history.account_id, tag_id)
    without = {link: [one for one in of if one != tag_id] for link, of in history.tags.items()}
    counted = Counted(history._replace(tags=without), HOST)
    await check(services, counted, query_of(history, "tag"))


@pytest.mark.parametrize("group_by", ["tag", "country", "day"])
async def test_a_later_look_at_days_that_are_over_reads_neither_links_nor_their_counts(
    services: Services, set_clock: SetClock, group_by: str
) -> None:
    set_clock(NOW + timedelta(2))
    history = await made(services, Random(3))
    tag_id = next(tag for tags in history.tags.values() for tag in tags)
    query = query_of(history, group_by, **({} if group_by == "tag" else {"tag": [tag_id]}))
    first = await read(services, query)
    assert first["links"] > 0
    later = await read(services, query)
    assert (later["links"], later["joint_counts"]) == (0, 0)
    assert later["tag_counts"] == 2 * 2  # clicks and events of two days
