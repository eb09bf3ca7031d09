"""Reports: those of a request are read in one snapshot, so that their figures agree."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID

from tracker.clock import now
from tracker.limits.permits import Permits
from tracker.reports import limits
from tracker.reports.answers.one_report import read_page
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scope import scope_of
from tracker.reports.memory import ReportMemory, Reservation
from tracker.reports.query import Report, ReportQuery
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.reads import MongoReads


class Reports:
    """The reports of a process. `host` is the name of the default domain."""

    def __init__(self, mongodb: MongoDB, host: str) -> None:
        self._database = mongodb.database
        self._reads = mongodb.reads
        self._host = host
        self.memory = ReportMemory()
        seconds = limits.REPORT_SECONDS
        self._reading = Permits("report", "reports", limits.READING, seconds)
        counting = "reports that read every click"
        self._counting = Permits("report", counting, limits.COUNTING, seconds)

    @asynccontextmanager
    async def begin(
        self,
        account_id: UUID,
        snapshot: MongoReads | None = None,
        reservation: Reservation | None = None,
    ) -> AsyncIterator[ReportRun]:
        """Yield the run of an account's request, by default in a new snapshot.

        Reading counts needs a permit to read. To count documents, a run exchanges it for a permit
        to count. It never holds two. A `reservation` outlives the run, for those who keep its rows.
        Raises RateLimited or Unavailable if too many reports wait.
        """
        until = time.monotonic() + limits.REPORT_SECONDS
        is_counting = False
        async with AsyncExitStack() as stack:
            permit = await stack.enter_async_context(AsyncExitStack())

            async def take(permits: Permits) -> None:
                left = until - time.monotonic()
                await permit.enter_async_context(permits.permit(account_id, left))

            async def begin_counting() -> None:
                nonlocal is_counting
                if not is_counting:
                    is_counting = True
                    await permit.aclose()
                    await take(self._counting)

            await take(self._reading)
            if snapshot is None:
                snapshot = await stack.enter_async_context(self._reads.at_one_snapshot())
            if reservation is None:
                reservation = stack.enter_context(self.memory.reserve(account_id))
            yield ReportRun(
                self._database,
                snapshot,
                await scope_of(snapshot, account_id),
                now(),
                begin_counting,
                until=until,
                memory=reservation,
                host=self._host,
            )

    async def run(self, query: ReportQuery, snapshot: MongoReads | None = None) -> Report:
        """Return the only report of a run. Raises as `begin` and `ReportRun.part`."""
        async with self.begin(query.account_id, snapshot) as run:
            return await read_page(run, "report", query)
