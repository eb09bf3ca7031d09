"""The tables of cached counts, in memory that is reserved before they are read."""

from collections.abc import Collection, Mapping, Sequence

from tracker.errors import BadRequest
from tracker.reports import limits
from tracker.reports.columns import Columns
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.sources import CountSources
from tracker.reports.joint_counts.store import CachedCounts, JointId
from tracker.reports.periods import Period
from tracker.reports.threads import in_thread_if_large


class CachedTables:
    """The cached tables of a scope. Raises BadRequest for too many rows."""

    def __init__(self, run: ReportRun, sources: CountSources) -> None:
        self._run = run
        self._joint = sources.joint
        self._fingerprints = sources.fingerprints

    async def find(
        self, ids: Mapping[Period, JointId], names: Sequence[str]
    ) -> dict[JointId, CachedCounts]:
        """Return the cached counts, valid or not."""
        # At most one row for each click or event.
        rows = sum(self._fingerprints.of(period).count(one.of) for period, one in ids.items())
        size = rows * limits.ROW_BYTES
        if size > limits.SMALL_BYTES:
            size = await self._joint.size(ids.values(), names, self._run.latest)
        await self._run.memory.take(size)
        return await self._joint.find(ids.values(), names, self._run.latest)

    async def valid(
        self,
        ids: Mapping[Period, JointId],
        cached: Mapping[JointId, CachedCounts],
        names: Sequence[str],
        wanted: Mapping[str, Collection[str]] | None = None,
    ) -> dict[Period, Columns]:
        """Return the valid tables, or only their `wanted` rows."""
        valid = {
            period: cached[one]
            for period, one in ids.items()
            if one in cached
            and cached[one].is_valid(self._fingerprints.of(period).of(one.of), period.end)
        }
        rows = sum(found.rows() for found in valid.values())
        if not wanted:
            check_rows(names, rows)
        return await in_thread_if_large(
            rows, lambda: {period: found.table(wanted) for period, found in valid.items()}
        )


def check_rows(names: Sequence[str], rows: int) -> None:
    """Check that they fit in memory. Raises BadRequest otherwise."""
    if rows > limits.MAX_ROWS:
        by = " and ".join(names)
        rule = f"these days have more than {limits.MAX_ROWS:,} values of {by}; ask for fewer days"
        raise BadRequest(f"report: {rule}")
