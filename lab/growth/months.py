"""Reports of days that are over: of few and of many clicks, of a year, of a day of strangers."""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, NamedTuple

from lab.growth.figures import Size
from lab.growth.filling import FilledAccount
from lab.growth.run import Run, serving
from lab.growth.today import count_ahead, draining, span_of, store_clicks

_MONTH: Final = 30
_YEAR: Final = 365
_TWO_YEARS: Final = 731
_LOOKS: Final = 5

_FEW_CLICKS: Final = 10_000
_CLICKS_OF_STRANGERS: Final = 100_000
_LINKS_OF_YEAR: Final = 20_000

# An account is known by the number of its links.
_MONTH_LINKS: Final[Mapping[Size, int]] = {"small": 199, "large": 200}
_STRANGER_LINKS: Final[Mapping[Size, int]] = {"small": 9, "large": 10}
_TWO_YEARS_LINKS: Final = 20

_PHONES_IN_US: Final = {"country": ["US"], "device": ["mobile"]}
_PANELS: Final = ("link", "tag", "country", "device", "browser", "os", "referrer", "utm_campaign")
_OF_MONTH: Final[Mapping[str, Mapping[str, Any]]] = {
    "month": {"groupBy": "country"},
    "month-by-link": {"groupBy": "link"},
    "month-crossed": {"groupBy": "browser", "filters": _PHONES_IN_US},
    "month-overview": {
        "filters": {"country": ["US"]},
        "compare": "previous_period",
        "panels": [{"groupBy": one} for one in _PANELS],
    },
}
_OF_STRANGERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "strangers": {"groupBy": "utm_campaign"},
    "strangers-crossed": {"groupBy": "device", "filters": {"country": ["US"]}},
}


class _Report(NamedTuple):
    key: str
    size: Size
    request: bytes


async def measure(run: Run, wanted: Collection[str]) -> None:
    run.line.show("months: filling")
    reports: list[_Report] = []
    if any(one.startswith("month") for one in wanted):
        clicks: dict[Size, int] = {"small": _FEW_CLICKS, "large": run.sizes.clicks}
        for size, count in clicks.items():
            account = await _filled(run, _MONTH_LINKS[size], _MONTH, count)
            reports += [_report(account, key, size, _MONTH, of) for key, of in _OF_MONTH.items()]
    if not _OF_STRANGERS.keys().isdisjoint(wanted):
        count = min(_CLICKS_OF_STRANGERS, run.sizes.clicks)
        campaigns: dict[Size, int] = {"small": 1, "large": count}
        for size, different in campaigns.items():
            account = await _filled(run, _STRANGER_LINKS[size], 1, count, different)
            reports += [_report(account, key, size, 1, of) for key, of in _OF_STRANGERS.items()]
    if "year" in wanted:
        account = await _filled(run, min(_LINKS_OF_YEAR, run.sizes.links), _YEAR, run.sizes.clicks)
        reports.append(_report(account, "year", "large", _YEAR, {"groupBy": "link"}))
    if "two-years" in wanted:
        account = await _filled(run, _TWO_YEARS_LINKS, _TWO_YEARS, run.sizes.clicks // 10 or 1)
        reports.append(_report(account, "two-years", "large", _TWO_YEARS, {"groupBy": "country"}))
    reports = [one for one in reports if {one.key, f"{one.key}-first"} & {*wanted}]
    async with serving(run, run.filling.settings) as service:
        for one in reports:
            first = await service.milliseconds(one.request, 1)
            run.samples.add(f"{one.key}-first", one.size, first)
        for number in range(1, run.sizes.rounds + 1):
            run.line.show(f"months: round {number} of {run.sizes.rounds}")
            for one in reports:
                taken = await service.milliseconds(one.request, _LOOKS)
                run.samples.add(one.key, one.size, taken)


async def _filled(
    run: Run, links: int, days: int, clicks: int, campaigns: int | None = None
) -> FilledAccount:
    account = await run.filling.account(links)
    async with draining(run.filling.settings) as (_, parts):
        first, last = _days(days)
        of = (account.id, account.link_ids, clicks, span_of(first, last))
        await store_clicks(parts.drain, *of, *([campaigns] if campaigns else []))
        await count_ahead(parts, clicks)
    return account


def _days(days: int) -> tuple[date, date]:
    last = datetime.now(UTC).date() - timedelta(days=1)
    return last - timedelta(days=days - 1), last


def _report(
    account: FilledAccount, key: str, size: Size, days: int, of: Mapping[str, Any]
) -> _Report:
    return _Report(key, size, account.report(*_days(days), of))
