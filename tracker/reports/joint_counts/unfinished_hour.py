"""Counts of an hour that is not over: kept up to a moment ago, and read on from there next time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from tracker.reports import columns
from tracker.reports.columns import Columns
from tracker.reports.joint_counts.sources import CountSources, with_missing
from tracker.reports.joint_counts.store import Found, JointId, Kept
from tracker.reports.periods import Period

LANDING: Final = timedelta(seconds=30)
"""How long after it was made a click has landed, in all likelihood."""


async def count_so_far(
    sources: CountSources,
    now: datetime,
    one: JointId,
    known: Found | None,
    names: Sequence[str],
    hour: Period,
) -> Columns:
    """Return the counts of an hour, read on from those that are `known`.

    If clicks from before that moment have landed since, the figures do not equal the mark, and the
    hour is counted from its beginning.
    """
    mark, documents = sources.marks.of(hour), sources.documents
    expected = mark.count(one.of)
    through, table = hour.start, columns.empty(names)
    if known is not None and known.through and mark.continues(one.of, known.mark):
        through, table = max(known.through, hour.start), known.table()
    settled = max(min(now - LANDING, hour.end), through)
    before = await documents.count(one.of, names, hour, expected, through, settled)
    kept = columns.joined([table, before], names).by(names)
    after = await documents.count(one.of, names, hour, expected, settled)
    found = columns.joined([kept, after], names).by(names)
    if not mark.equals(one.of, found):
        if through > hour.start:
            return await count_so_far(sources, now, one, None, names, hour)
        return with_missing(found, mark.missing(found), names) if one.of == "clicks" else found
    await sources.joint.keep(one, Kept(mark.of_table(one.of, kept), kept, settled))
    return found
