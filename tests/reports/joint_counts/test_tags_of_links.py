"""The tags of an account's links are cached for one version of them, and read in bounded pages."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from msgspec import structs

from tests.factories import create_link, make_click_document
from tests.reports.answers.drawn import HOST, check, drawn, values
from tests.reports.counted import Counted
from tests.reports.documents_read import read
from tests.reports.history import FIRST, History, made, more, store
from tracker.reports.joint_counts import tags_of_links
from tracker.reports.query import GroupBy, ReportQuery
from tracker.reports.raw_ids import Ids, id_arrays
from tracker.service.services import Services

LAST = FIRST + timedelta(1)
UNTIL = datetime(LAST.year, LAST.month, LAST.day, 20, 30, tzinfo=UTC)

SetClock = Callable[[datetime], None]


@pytest.fixture(autouse=True)
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Make one link many and two a page, and return the function that sets the time."""
    for name, value in (("FEW", 0), ("_BY_ID", 0), ("_LINKS_AT_ONCE", 2)):
        monkeypatch.setattr(tags_of_links, name, value)

    def set_to(at: datetime) -> None:
        monkeypatch.setattr("tracker.reports.joint_counts.scope.now", lambda: at)
        monkeypatch.setattr("tracker.links.tags.now", lambda: at)

    set_to(datetime.now(UTC) + timedelta(1))
    return set_to


def by_tag(history: History, **filters: Any) -> ReportQuery:
    return ReportQuery(
        account_id=history.account_id,
        group_by="tag",
        filters=filters,
        first=FIRST,
        last=LAST,
        until=UNTIL,
    )


@pytest.mark.parametrize("group_by", ["tag", "link", "country"])
async def test_every_report_equals_a_count_one_by_one_whatever_tags_are_cached(
    services: Services, group_by: GroupBy, set_clock: SetClock
) -> None:
    random = Random(group_by)
    history = await made(services, random)
    for day in range(1, 4):
        set_clock(datetime.now(UTC) + timedelta(day))
        counted = Counted(history, HOST)
        for _ in range(8):
            query = drawn(random, history, group_by)
            of_tags = {**query.filters, "tag": values(random, history, "tag")}
            await check(services, counted, query)
            await check(services, counted, structs.replace(query, filters=of_tags))
            await check(services, counted, by_tag(history))
        history = await more(services, random, history)
        link_id = random.choice(sorted(history.tags.keys() - {history.foreign_link}))
        tags = random.choice([[], *history.tags.values()])
        await services.links.links.change(link_id, {"tags": tags})
        history = history._replace(tags={**history.tags, link_id: tags})


async def test_a_later_look_reads_no_link(services: Services) -> None:
    history = await made(services, Random(1))
    query = by_tag(history)
    assert (await read(services, query))["links"] > 0
    assert (await read(services, query))["links"] == 0
    await check(services, Counted(history, HOST), query)


async def test_a_link_that_is_newer_than_the_cached_tags_is_looked_up(
    services: Services, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tags_of_links, "CHANGE_TIME", timedelta())
    random = Random(2)
    history = await made(services, random)
    set_clock(datetime.now(UTC))
    await check(services, Counted(history, HOST), by_tag(history))
    tags = next(tags for tags in history.tags.values() if tags)
    link = await create_link(services, history.account_id, "newer", tags=tags)
    click = make_click_document(
        account_id=history.account_id, link_id=link.id, at=UNTIL - timedelta(hours=9)
    )
    await store(services, random, [click], [])
    history = history._replace(
        clicks=[*history.clicks, click], tags={**history.tags, link.id: tags}
    )
    for _ in range(2):
        set_clock(datetime.now(UTC))
        await check(services, Counted(history, HOST), by_tag(history))


async def test_tags_of_more_links_than_are_cached_are_read_each_time(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tags_of_links, "_MAX_CACHED", 2)
    history = await made(services, Random(3))
    for _ in range(2):
        await check(services, Counted(history, HOST), by_tag(history))
    assert (await read(services, by_tag(history)))["links"] > 0


async def test_no_document_has_more_links_of_a_tag_than_a_page(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await made(services, Random(4))
    [tag, *_] = next(tags for tags in history.tags.values() if tags)
    links: Collection[Any] = history.tags.keys() - {history.foreign_link}
    for link_id in links:
        await services.links.links.change(link_id, {"tags": [tag]})
    tags = {link_id: [tag] for link_id in links}
    history = history._replace(tags={**tags, history.foreign_link: []})
    sizes = []

    def recorded(document: bytes) -> dict[str, Ids]:
        found = id_arrays(document)
        sizes.append(len(found["links"]))
        return found

    monkeypatch.setattr(tags_of_links, "id_arrays", recorded)
    await check(services, Counted(history, HOST), by_tag(history))
    assert sum(sizes) == len(links)
    assert max(sizes) == 2
