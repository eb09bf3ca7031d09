"""Every report agrees with a count of the clicks and events one by one, from rollups or from them.

The queries are drawn at random from all possible ones; the seeds make them repeatable.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random
from uuid import UUID

import pytest

from tests.factories import make_click_document
from tests.reports.answers.drawn import GROUPS, HOST, check, drawn
from tests.reports.counted import Counted
from tests.reports.history import FIRST, made, store
from tracker.errors import RateLimited, Unavailable
from tracker.ids import new_id
from tracker.limits.permits import PermitLimits, Permits
from tracker.reports import limits
from tracker.reports.answers.one_report import read_page
from tracker.reports.limits import COUNTING, READING
from tracker.reports.query import GroupBy, ReportQuery
from tracker.service.services import Services


@pytest.mark.parametrize("group_by", GROUPS)
async def test_a_report_equals_a_count_one_by_one(services: Services, group_by: GroupBy) -> None:
    random = Random(group_by)
    history = await made(services, random)
    counted = Counted(history, HOST)
    for _ in range(30):
        query = drawn(random, history, group_by)
        await check(services, counted, query)


async def test_an_account_without_clicks_has_an_empty_report(services: Services) -> None:
    for group_by in GROUPS:
        query = ReportQuery(account_id=new_id(), first=FIRST, last=FIRST, group_by=group_by)
        report = await services.reports.reports.run(query)
        assert (list(report.rows), report.total_rows) == ([], 0)
        assert report.totals.conversion_rate == 0


async def test_reports_use_the_current_tags_of_links(services: Services) -> None:
    random = Random(1)
    history = await made(services, random)
    link_id = next(one for one, tags in history.tags.items() if tags)
    await services.links.links.change(link_id, {"tags": []})
    changed = history._replace(tags={**history.tags, link_id: []})
    counted = Counted(changed, HOST)
    for _ in range(20):
        await check(services, counted, drawn(random, changed, "tag"))


async def test_reports_that_read_clicks_take_turns_and_delay_no_others(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.reports.reports._counting = Permits(
        "report", "reports that read every click", PermitLimits(1, 2, 1, 1), 30
    )
    # A request that counts has left its permit for reading.
    services.reports.reports._reading = Permits("report", "reports", PermitLimits(1, 1, 9, 9), 30)
    _, release = hold_counting(services, monkeypatch)
    accounts = [await with_a_click(services) for _ in range(4)]
    running = [asyncio.create_task(services.reports.reports.run(crossed(one))) for one in accounts]
    [refused], others = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    assert str(refused.exception()) == (
        "report: too many reports that read every click are under way; try again"
    )
    uncrossed = ReportQuery(account_id=accounts[0], first=FIRST, last=FIRST, group_by="os")
    assert (await services.reports.reports.run(uncrossed)).total_rows == 1
    release.set()
    assert [(await one).total_rows for one in others] == [1, 1, 1]


def hold_counting(
    services: Services, monkeypatch: pytest.MonkeyPatch, of: UUID | None = None
) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold requests in their permits for counting, those of one account or all.

    The first event is set once one is there. They go on when the second is set.
    """
    held, release = asyncio.Event(), asyncio.Event()
    within = services.reports.reports._counting.permit

    @asynccontextmanager
    async def permit(account_id: UUID, seconds: float) -> AsyncIterator[None]:
        async with within(account_id, seconds):
            if of in (None, account_id):
                held.set()
                await release.wait()
            yield

    monkeypatch.setattr(services.reports.reports._counting, "permit", permit)
    return held, release


async def test_fifty_crossed_reports_of_one_account_do_not_block_another(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test holds the reports under way until the other account's is answered."""
    busy, other = await with_a_click(services), await with_a_click(services)
    held, release = hold_counting(services, monkeypatch, busy)
    reports = [asyncio.create_task(services.reports.reports.run(crossed(busy))) for _ in range(50)]
    await held.wait()
    assert (await services.reports.reports.run(crossed(other))).total_rows == 1
    # All have asked for a permit, or those that come late would find what the first has counted.
    rejected = 50 - 1 - COUNTING.waiting_of_account
    for answered in itertools.islice(asyncio.as_completed(reports), rejected):
        with pytest.raises(RateLimited):
            await answered
    release.set()
    answers = await asyncio.gather(*reports, return_exceptions=True)
    refused = [one for one in answers if isinstance(one, BaseException)]
    assert len(refused) == rejected
    for one in refused:
        assert isinstance(one, RateLimited)
        assert (one.message, one.headers) == (
            "report: 25 reports that read every click of the account are under way; try again",
            {"Retry-After": "30"},
        )


async def test_no_more_overviews_of_an_account_are_under_way_than_it_has_places(
    services: Services,
) -> None:
    account_id, other = await with_a_click(services), await with_a_click(services)
    within, most = 0, 0

    async def overview(of: UUID) -> None:
        nonlocal within, most
        async with services.reports.reports.begin(of) as run:
            within += of == account_id
            most = max(most, within)
            for number in range(3):
                query = ReportQuery(account_id=of, first=FIRST, last=FIRST, group_by="os")
                await read_page(run, f"panels[{number}]", query)
            within -= of == account_id

    await asyncio.gather(*(overview(one) for one in [account_id] * 20 + [other]))
    assert most == READING.of_account


async def test_a_request_waits_for_its_place_no_longer_than_it_may_take(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 30 seconds for itself, the last part would end after the client has gone."""
    seconds_for_itself = limits.REPORT_SECONDS
    monkeypatch.setattr(limits, "REPORT_SECONDS", 0.2)
    account_id = await with_a_click(services)
    async with (
        asyncio.timeout(seconds_for_itself),
        services.reports.reports._counting.permit(account_id, 1),
    ):
        with pytest.raises(Unavailable, match=r"^panels\[0\]: "):
            async with services.reports.reports.begin(account_id) as run:
                await read_page(run, "panels[0]", crossed(account_id))


async def with_a_click(services: Services) -> UUID:
    """Return an account with one click, counted and stored."""
    account_id = new_id()
    at = datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=UTC)
    click = make_click_document(account_id=account_id, at=at, device="tv", os="iOS")
    await store(services, Random(0), [click], [])
    return account_id


def crossed(account_id: UUID) -> ReportQuery:
    filters = {"device": ["tv"], "os": ["iOS"]}
    return ReportQuery(
        account_id=account_id, first=FIRST, last=FIRST, group_by="link", filters=filters
    )
