"""Numbers of links in shared reports that hide ids and names.

A number is the rank of a link by the share's own measure. So a link has the same number in rows, in
filters, and in an order by another measure.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tracker.reports.answers.compared import read_all_rows
from tracker.reports.api.figures import ReportRow
from tracker.reports.api.overview import CreateOverview, OverviewPanel, PanelRows
from tracker.reports.query import ReportQuery
from tracker.reports.threads import in_thread
from tracker.sharing.services import SharingServices
from tracker.sharing.shares import Share
from tracker.visitor_dimensions import UNKNOWN


class _Ranks(NamedTuple):
    """The ranks of some links, and the number of all ranked links."""

    of: Mapping[str, int]
    total: int


async def hide_links(
    services: SharingServices,
    share: Share,
    panel: PanelRows | None,
    wanted: CreateOverview,
    ranked: CreateOverview,
) -> dict[str, str]:
    """Number the links of a panel. Return the names of the links in filters, by their ids.

    `wanted` is the overview to show, `ranked` the one by the share's own measure.
    """
    filtered = [str(link) for link in ranked.filters.named_values().get("link", [])]
    rows = [] if panel is None else panel.rows
    shown = [row.key for row in rows]
    ordered_by = _by_link(ranked)
    has_same_order = _by_link(wanted) == ordered_by
    if ordered_by is None or (has_same_order and set(filtered).issubset(shown)):
        ranks = _ranks(shown, {*shown, *filtered})
    else:
        within = frozenset(share.tags) or None
        query = ordered_by.query(ranked.query(share.account_id, within))
        ranks = await _read_ranks(services, query, ranked, {*shown, *filtered})
    numbers = dict(ranks.of)
    for link in filtered:
        numbers.setdefault(link, ranks.total + 1 + len(numbers) - len(ranks.of))
    if panel is not None:
        panel.rows = [_numbered(row, numbers.get(row.key)) for row in rows]
    return {link: f"Link {numbers[link]}" for link in filtered}


async def _read_ranks(
    services: SharingServices,
    query: ReportQuery,
    ranked: CreateOverview,
    wanted: Collection[str],
) -> _Ranks:
    comparison = ranked.comparison() if query.by_change else None
    async with services.reports.reports.begin(query.account_id) as run:
        whole, _ = await read_all_rows(run, query, comparison)
        return await in_thread(_ranks, whole.keys, wanted)


def _ranks(keys: Sequence[str], wanted: Collection[str]) -> _Ranks:
    links = [key for key in keys if key != UNKNOWN]
    return _Ranks({key: rank for rank, key in enumerate(links, 1) if key in wanted}, len(links))


def _by_link(overview: CreateOverview) -> OverviewPanel | None:
    return next((panel for panel in overview.panels if panel.group_by == "link"), None)


def _numbered(row: ReportRow, number: int | None) -> ReportRow:
    if number is None:
        return row
    return msgspec.structs.replace(row, key=str(number), name=f"Link {number}")
