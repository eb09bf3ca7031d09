"""Joint counts of a day whose rollups are copied to another time zone (`ingest/time_zone_change`).

The clicks of such a day may be deleted, so it could not be counted again.
"""

from uuid import UUID

from tracker.calendar import Calendar
from tracker.reports.counted import dimensions_of
from tracker.reports.dimensions import DOCUMENT_KINDS
from tracker.reports.joint_counts.fingerprints import Fingerprint, fingerprint_of
from tracker.reports.joint_counts.store import ALL, JointCounts, JointId, NewCounts
from tracker.reports.periods import Period
from tracker.reports.rollups.layout import rollups_of
from tracker.stores.mongodb.database import MongoDB


class JointCopy:
    """The copying of a day's counts by all dimensions."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._reader = mongodb.reads
        self._joint = JointCounts(mongodb.database)

    async def copy(
        self, account_id: UUID, period: Period, calendar: Calendar, original: Calendar
    ) -> None:
        """Copy a day's counts to `calendar`, if they are valid in `original`.

        The day is the same in both. Nothing is copied unless the rollups of both are equal.
        """
        async with self._reader.at_one_snapshot() as snapshot:
            before, after = [
                await fingerprint_of(snapshot, rollups_of(account_id, one.zone), period)
                for one in (original, calendar)
            ]
            if not _agree(before, after):
                return
            for of in DOCUMENT_KINDS:
                one = JointId(account_id, original.zone, None, of, ALL, period.key)
                cached = (await self._joint.find([one], dimensions_of(of), snapshot)).get(one)
                if cached is None or cached.fingerprint != before.of(of):
                    continue
                copied = one._replace(zone=calendar.zone)
                await self._joint.store(copied, NewCounts(after.of(of), cached.table()))


def _agree(one: Fingerprint, other: Fingerprint) -> bool:
    """Return whether the sums are equal, whatever their history."""
    return one._replace(changes=0, corrections=0) == other._replace(changes=0, corrections=0)
