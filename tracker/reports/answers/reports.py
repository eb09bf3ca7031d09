"""Reports: one snapshot for all reports of a request, so that their figures agree."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
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

        A `reservation` outlives the run, for a caller that keeps its rows. Raises RateLimited or
        Unavailable if too many reports wait.
        """
        until = time.monotonic() + limits.REPORT_SECONDS
        async with AsyncExitStack() as stack:
            begin_counting = await stack.enter_async_context(self._permit(account_id, until))
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

    @asynccontextmanager
    async def _permit(
        self, account_id: UUID, until: float
    ) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Hold a permit to read. Yield the function that exchanges it for one to count.

        A request never holds two. No wait is longer than `until`.
        """
        is_counting = False
        async with AsyncExitStack() as permit:

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
            yield begin_counting

    async def run(self, query: ReportQuery, snapshot: MongoReads | None = None) -> Report:
        """Return the only report of a run. Raises as `begin` and `ReportRun.part`."""
        async with self.begin(query.account_id, snapshot) as run:
            return await read_page(run, "report", query)
