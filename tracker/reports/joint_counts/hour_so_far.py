"""The counts of an unfinished hour: cached counts of a part of it, continued with later documents.

The part is that of an earlier report by the same dimensions, or that of the counts by all
dimensions, which drains continue while the hour grows.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from tracker.reports import columns, limits
from tracker.reports.columns import Columns
from tracker.reports.counted import dimensions_in
from tracker.reports.joint_counts.documents import documents_in
from tracker.reports.joint_counts.scan import with_missing
from tracker.reports.joint_counts.sources import CountSources, HourPart
from tracker.reports.joint_counts.store import ALL, CachedTable, JointId, NewTable
from tracker.reports.periods import Period
from tracker.reports.threads import in_thread, in_thread_if_large

STORING_TIME: Final = timedelta(seconds=30)
"""Almost all clicks are stored within this time."""


async def count_so_far(
    sources: CountSources,
    now: datetime,
    one: JointId,
    known: CachedTable | None,
    names: Sequence[str],
    hour: Period,
) -> Columns:
    """Return the counts of an unfinished hour, continued from `known` or from cached counts.

    Late clicks make the figures differ from the fingerprint. Then the whole hour is counted again.
    """
    fingerprint = sources.fingerprints.of(hour)
    stable_end = min(now - STORING_TIME, hour.end)
    part = await _known_part(sources, one, known, names, hour)
    found = None
    if part is not None:
        found = await _continued(sources, {one: names}, part, stable_end, hour)
    if found is None or not fingerprint.equals(one.of, found):
        new = sources.counted_with(one.of, names, hour)
        nothing = HourPart(hour.start, columns.empty(dimensions_in(new.values())))
        found = await _continued(sources, new, nothing, stable_end, hour)
        found = await in_thread(found.by, names)
    if one.of == "events" or fingerprint.equals(one.of, found):
        return found
    return with_missing(found, fingerprint.missing(found), names)


async def _known_part(
    sources: CountSources,
    one: JointId,
    known: CachedTable | None,
    names: Sequence[str],
    hour: Period,
) -> HourPart | None:
    """Return the valid counts of the longest part; None without any."""
    fingerprint = sources.fingerprints.of(hour)
    part = None
    left = fingerprint.count(one.of)
    if known is not None and known.through and fingerprint.continues(one.of, known.fingerprint):
        part = HourPart(known.through, await in_thread(known.table), is_cached=True)
        left = fingerprint.uncounted(one.of, known.fingerprint)
    if left <= limits.FEW_DOCUMENTS or one.by == ALL:
        return part
    by_all = await sources.so_far_by_all(one.of, names, hour)
    if by_all is None or (part is not None and by_all.through <= part.through):
        return part
    return by_all


async def _continued(
    sources: CountSources,
    new: Mapping[JointId, Sequence[str]],
    part: HourPart,
    stable_end: datetime,
    hour: Period,
) -> Columns:
    """Count the documents after a part, and return the sum by its dimensions.

    The sum is cached for each of the `new` counts if it is whole, or has many new documents.
    """
    of = next(iter(new)).of
    fingerprint = sources.fingerprints.of(hour)
    names, expected = list(part.table.dimensions), fingerprint.count(of)
    is_few = expected - documents_in(part.table) <= limits.FEW_DOCUMENTS
    if part.is_cached and is_few and stable_end < hour.end:
        # Few documents: the next report reads them again.
        recent = await sources.recent(of, names, hour, part.through)
        rows = part.table.rows + recent.rows
        return await in_thread_if_large(rows, columns.summed, [part.table, recent], names)
    stable_end = max(stable_end, part.through)
    count = sources.documents.count
    before = await count(of, names, hour, expected, part.through, stable_end)
    stable = await in_thread(columns.summed, [part.table, before], names)
    after = await count(of, names, hour, expected, stable_end)
    found = await in_thread(columns.summed, [stable, after], names)
    added = documents_in(before)
    is_worth_it = (
        added > (0 if stable_end == hour.end else limits.FEW_DOCUMENTS) or not part.is_cached
    )
    if is_worth_it and fingerprint.equals(of, found):
        of_stable = fingerprint.of_table(of, stable)
        tables = await in_thread(lambda: {one: stable.by(by) for one, by in new.items()})
        await sources.joint.store(
            {one: NewTable(of_stable, table, stable_end) for one, table in tables.items()}
        )
    return found
