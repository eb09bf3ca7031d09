"""The periods whose counts are missing or outdated, for drains that count them ahead."""

from collections.abc import Sequence

from tracker.reports import limits
from tracker.reports.dimensions import DOCUMENT_KINDS
from tracker.reports.joint_counts.hour_so_far import STORING_TIME
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.sources import CountSources
from tracker.reports.joint_counts.store import JointId
from tracker.reports.periods import Period


async def missing_periods(
    run: ReportRun, by: Sequence[str], periods: Sequence[Period], at_least: int = 1
) -> list[Period]:
    """Return the periods whose counts by these dimensions are missing or no longer valid.

    Hours replace a large day. Counts of fewer than `at_least` documents are left out, and so
    are hours that have not ended with fewer new ones. So are counts too large for a table by
    all dimensions.
    """
    sources = CountSources(run, run.scope)
    await sources.fingerprints.read(periods)
    pieces = [piece for one in periods for piece in await sources.parts_of(one) or [one]]
    await sources.fingerprints.read(pieces)
    wanted = {
        sources.id_of(of, by, piece): piece
        for piece in pieces
        for of in DOCUMENT_KINDS
        if at_least <= sources.fingerprints.of(piece).count(of) <= limits.LARGE_DAY
    }
    cached = await sources.joint.fingerprints(wanted, run.reader)
    stable_end = run.at - STORING_TIME

    def is_missing(one: JointId, piece: Period) -> bool:
        fingerprint = sources.fingerprints.of(piece)
        if piece.end <= stable_end:
            return cached.get(one) != fingerprint.of(one.of)
        return fingerprint.uncounted(one.of, cached.get(one)) >= at_least

    return list(dict.fromkeys(piece for one, piece in wanted.items() if is_missing(one, piece)))
