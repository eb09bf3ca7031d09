"""Reports of a day that is not over: of few and of many links, and of few and of many clicks.

New clicks are stored before each look, as on a day with traffic.
"""

from collections.abc import Collection
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, NamedTuple

from lab.growth.figures import Size
from lab.growth.filling import FilledAccount
from lab.growth.run import Run, serving
from lab.growth.today import count_ahead, draining, store_clicks, today_so_far
from lab.requests import clicks
from lab.scene import Place

_NEW_CLICKS: Final = 20
_OPENED_LINKS: Final = 1_000
_LOOKS: Final = 2
_FEW_CLICKS: Final = 1_000
_MOST_CLICKED: Final = 100_000
"""Links that are clicked on one day, of more links too."""

_OVERVIEW: Final = "overview"
_BURST: Final = "overview-burst"
_PANELS: Final = ("country", "device", "browser", "referrer", "utm_campaign")
_BY_LINKS: Final = frozenset({"today-by-link", "today-by-tag", "today-of-a-tag"})


class _Report(NamedTuple):
    """A report of a row, and the links that new clicks open before it."""

    key: str
    size: Size
    places: list[Place]
    request: bytes


async def measure(run: Run, wanted: Collection[str]) -> None:
    run.line.show("reports: filling")
    reports = []
    if not _BY_LINKS.isdisjoint(wanted):
        reports += [one for one in await _by_links(run) if one.key in wanted]
    if not _BY_LINKS.issuperset(wanted):
        reports += await _of_one_link(run)
    async with serving(run, run.filling.settings) as service:
        for report in reports:
            first = await service.milliseconds(report.request, 1)
            run.samples.add(f"{report.key}-first", report.size, first)
        reports = [one for one in reports if one.key != _BURST]
        for number in range(1, run.sizes.rounds + 1):
            run.line.show(f"reports: round {number} of {run.sizes.rounds}")
            for report in reports * _LOOKS:
                await service.load(_new_clicks(report))
                taken = await service.milliseconds(report.request, 1)
                run.samples.add(report.key, report.size, taken)


async def _by_links(run: Run) -> list[_Report]:
    few = await run.filling.account(run.sizes.few_links)
    many = await run.filling.account(min(run.sizes.links, _MOST_CLICKED))
    reports, today = [], datetime.now(UTC).date()
    async with draining(run.filling.settings) as (_, parts):
        accounts: dict[Size, FilledAccount] = {"small": few, "large": many}
        for size, account in accounts.items():
            of = (account.id, account.link_ids, account.links, today_so_far())
            await store_clicks(parts.drain, *of)
            tag = {"tag": [str(account.tags[0])]}
            bodies: dict[str, dict[str, Any]] = {
                "today-by-link": {"groupBy": "link"},
                "today-by-tag": {"groupBy": "tag"},
                "today-of-a-tag": {"groupBy": "country", "filters": tag},
            }
            opened = account.active()[:_OPENED_LINKS]
            places = [Place(account.slug(number)) for number in opened]
            for key, body in bodies.items():
                reports.append(_Report(key, size, places, account.report(today, today, body)))
    return reports


async def _of_one_link(run: Run) -> list[_Report]:
    """Have one link of an account clicked a few times today, and another as often as the larger
    account has links; and the same of an account whose clicks no drain counts ahead.
    """
    clicks: dict[Size, int] = {"small": min(_FEW_CLICKS, run.sizes.links), "large": run.sizes.links}
    reports, today = list[_Report](), datetime.now(UTC).date()
    for key in (_OVERVIEW, _BURST):
        account = await run.filling.account(2 + len(reports))
        async with draining(run.filling.settings) as (_, parts):
            for number, (size, count) in enumerate(clicks.items()):
                link_id = account.link_ids[number]
                of = (account.id, [link_id], count, today_so_far())
                await store_clicks(parts.drain, *of)
                body = {
                    "filters": {"link": [str(link_id)]},
                    "compare": "previous_period",
                    "panels": [{"groupBy": panel} for panel in _PANELS],
                }
                request = account.report(today, today, body)
                reports.append(_Report(key, size, [Place(account.slug(number))], request))
            if key == _OVERVIEW:
                await count_ahead(parts, run.sizes.links)
    return reports


def _new_clicks(report: _Report) -> list[bytes]:
    opened = Random(len(report.places)).choices(report.places, k=_NEW_CLICKS)  # noqa: S311
    return clicks(opened, _NEW_CLICKS)
