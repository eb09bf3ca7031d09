"""The kinds of reports that are timed. Pure."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from lab.bench_reports.traffic import Account
from tracker.reports.periods import DayRange
from tracker.reports.query import FilterValue, GroupBy, ReportQuery

PANELS: Final[tuple[GroupBy, ...]] = (
    *("link", "tag", "country", "device", "browser", "os", "referrer", "utm_campaign"),
)
_BY_ACCOUNT: Final[tuple[GroupBy, ...]] = (
    *("device", "country", "browser", "os", "day", "hour", "domain", "event"),
)
_BY_LINK: Final[tuple[GroupBy, ...]] = ("device", "country", "browser", "os", "day", "hour")
_SOURCES: Final[tuple[GroupBy, ...]] = ("referrer", "utm_source", "utm_campaign", "bot")
Filters: TypeAlias = Mapping[str, Sequence[FilterValue]]

_US: Final[Filters] = {"country": ["US"]}
_NONE: Final[Filters] = {}

_RAW: Final[Mapping[GroupBy, str | dict[str, Any]]] = {
    **{name: f"${name}" for name in ("device", "country", "browser", "os")},
    "day": {"$dateTrunc": {"date": "$at", "unit": "day"}},
    "hour": {"$dateTrunc": {"date": "$at", "unit": "hour"}},
    "domain": "$domain_name",
    "link": "$link_id",
}
"""What the aggregation of clicks groups by."""


class Kind(NamedTuple):
    """A kind of report.

    - `kept`: it reads counts that its first look makes, and keeps.
    - `raw`: the expression by which the same is aggregated from clicks, None if it is not timed.
    - `is_overview`: the query is that of an overview with PANELS, beside the days before.
    """

    name: str
    query: ReportQuery
    kept: bool = False
    raw: str | dict[str, Any] | None = None
    is_overview: bool = False


def kinds_of_month(account: Account) -> list[Kind]:
    """Return every kind of report, of all the account's days."""
    raw = {one: _RAW.get(one) for one in (*_BY_ACCOUNT, "link")}
    return [
        *(Kind(f"account by {one}", query(account, one), raw=raw[one]) for one in _BY_ACCOUNT),
        Kind("account by link", query(account, "link"), kept=True, raw=raw["link"]),
        Kind("account by tag", query(account, "tag"), kept=True),
        *(Kind(f"account by {one}", query(account, one), kept=True) for one in _SOURCES),
        *_crossed(account),
        *_of_one_link(account),
        *_overviews(account),
    ]


def _crossed(account: Account) -> list[Kind]:
    both: Filters = {**_US, "device": ["mobile"]}
    tag: Filters = {"tag": [account.tags[0]]}
    return [
        _kept("device in a country", query(account, "device", _US)),
        _kept("hour in a country", query(account, "hour", _US)),
        _kept("browser in a country on a device", query(account, "browser", both)),
        _kept("referrer in a country", query(account, "referrer", _US)),
        _kept("link in a country", query(account, "link", _US)),
        Kind("one tag by device", query(account, "device", tag)),
        _kept("one tag: device in a country", query(account, "device", {**tag, **_US})),
    ]


def _of_one_link(account: Account) -> list[Kind]:
    link: Filters = {"link": [account.links[0]]}
    return [
        *(Kind(f"one link by {one}", query(account, one, link)) for one in _BY_LINK),
        _kept("one link by referrer", query(account, "referrer", link)),
        _kept("one link: device in a country", query(account, "device", {**link, **_US})),
    ]


def _overviews(account: Account) -> list[Kind]:
    """Return overviews of the second half of the days, compared with the first."""
    days = account.days
    half = DayRange(days.first + timedelta(days.days // 2), days.last)
    return [
        Kind(name, query(account, "day", filters, half), kept=True, is_overview=True)
        for name, filters in (("overview", {}), ("overview of a country", _US))
    ]


def kinds_of_strangers(account: Account) -> list[Kind]:
    """Return the reports that a day of many campaigns might slow down, and those by campaign."""
    return [
        Kind("account by device", query(account, "device")),
        _kept("by referrer", query(account, "referrer")),
        _kept("device in a country", query(account, "device", _US)),
        _kept("by link", query(account, "link")),
        _kept("by campaign", query(account, "utm_campaign")),
        _kept("device of a campaign", query(account, "device", {"utm_campaign": ["campaign-7"]})),
    ]


def kinds_of_links(account: Account) -> list[Kind]:
    tag: Filters = {"tag": [account.tags[0]]}
    return [
        _kept("by link", query(account, "link")),
        _kept("by tag", query(account, "tag")),
        _kept("link in a country", query(account, "link", _US)),
        _kept("tag in a country", query(account, "tag", _US)),
        _kept("country of a tag", query(account, "country", tag)),
    ]


def kinds_of_account(account: Account) -> list[Kind]:
    """Return the reports of an account by each dimension that its rollups have."""
    return [_kept(f"account by {one}", query(account, one)) for one in _BY_ACCOUNT if one != "hour"]


def query(
    account: Account, group_by: GroupBy, filters: Filters = _NONE, days: DayRange | None = None
) -> ReportQuery:
    """Return the query of a report of these days, all of the account's by default."""
    first, last = days or account.days
    return ReportQuery(
        account_id=account.id, first=first, last=last, group_by=group_by, filters=filters
    )


def _kept(name: str, asked: ReportQuery) -> Kind:
    return Kind(name, asked, kept=True)
