"""Numbers of links in shared reports that hide ids and names.

A number is the rank of a link by the share's own measure. So a link has the same number in rows, in
filters, and in an order by another measure.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tracker.reports.answers.compared import read_all_rows
from tracker.reports.answers.selection import resolved
from tracker.reports.api.figures import ReportRow
from tracker.reports.api.overview import CreateOverview, OverviewPanel, PanelRows
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
    shown = [row.key for row in rows if row.key != UNKNOWN]
    ordered_by = _by_link(ranked)
    has_same_order = _by_link(wanted) == ordered_by
    if ordered_by is None or (has_same_order and set(filtered).issubset(shown)):
        ranks = _ranks(shown, {*shown, *filtered})
    else:
        ranks = await _read_ranks(services, share, ranked, {*shown, *filtered})
    numbers = _numbers(ranks, [*filtered, *shown])
    if panel is not None:
        panel.rows = [_numbered(row, numbers) for row in rows]
    return {link: f"Link {numbers[link]}" for link in filtered}


async def number_links(
    services: SharingServices, share: Share, rows: Sequence[ReportRow], ranked: CreateOverview
) -> list[ReportRow]:
    """Return rows of links with the same numbers, wherever they stand in the report."""
    shown = [row.key for row in rows if row.key != UNKNOWN]
    numbers = _numbers(await _read_ranks(services, share, ranked, set(shown)), shown)
    return [_numbered(row, numbers) for row in rows]


async def _read_ranks(
    services: SharingServices, share: Share, ranked: CreateOverview, wanted: Collection[str]
) -> _Ranks:
    """Return the ranks in all rows of the panel, links of the compared days among them."""
    panel = _by_link(ranked)
    assert panel is not None
    comparison = None if panel.compare is False else ranked.comparison()
    within = frozenset(share.tags) or None
    async with services.reports.reports.begin(share.account_id) as run:
        query = resolved(run.scope, panel.query(ranked.query(share.account_id, within)))
        whole, _ = await read_all_rows(run, query, comparison)
        return await in_thread(_ranks, whole.keys, wanted)


def _numbers(ranks: _Ranks, links: Collection[str]) -> Mapping[str, int]:
    """Return a number for each link; those without a rank come last."""
    numbers = dict(ranks.of)
    for link in links:
        numbers.setdefault(link, ranks.total + 1 + len(numbers) - len(ranks.of))
    return numbers


def _ranks(keys: Sequence[str], wanted: Collection[str]) -> _Ranks:
    links = [key for key in keys if key != UNKNOWN]
    return _Ranks({key: rank for rank, key in enumerate(links, 1) if key in wanted}, len(links))


def _by_link(overview: CreateOverview) -> OverviewPanel | None:
    return next((panel for panel in overview.panels if panel.group_by == "link"), None)


def _numbered(row: ReportRow, numbers: Mapping[str, int]) -> ReportRow:
    if row.key == UNKNOWN:
        return row
    number = numbers[row.key]
    return msgspec.structs.replace(row, key=str(number), name=f"Link {number}")
