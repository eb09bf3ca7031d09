"""The counting of what is over by all dimensions, so that the first to ask need not wait for it.

All drains run the loop, and a lease lets one of them work. It works only while the journal is
short, and rests as long as it works: a busy drain pays nothing. What it makes are joint counts like
any others (`reports/joint_counts/counts`), and those by fewer dimensions are made from them. They
stay when retention deletes the clicks. A large day is counted hour by hour, so that neither time
nor memory grows with it; an hour with more clicks than `reports/limits` allows for a day is left
out.
"""

import asyncio
import random
import time
from datetime import timedelta
from typing import Final
from uuid import UUID

import pymongo
import structlog
from pymongo.errors import OperationFailure, PyMongoError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.calendar import Calendar
from tracker.clock import now
from tracker.journal.backlog import Backlog
from tracker.reports.counted import ALL_COUNTED
from tracker.reports.joint_counts.counts import Counts
from tracker.reports.joint_counts.scope import Scope, Snapshot, moment_of
from tracker.reports.limits import RECOUNT_SECONDS
from tracker.reports.periods import Period, day_period, hours_of, is_over
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.reader import Reader
from tracker.stores.redis import keys
from tracker.stores.redis.lease import Lease

log = structlog.get_logger(__name__)

DAYS: Final = 35
"""Days back from today that are counted ahead: all that reports by default show."""

IDLE_ENTRIES: Final = 50
"""Entries of the journal up to which the drains count as idle."""

LARGE_HOUR: Final = 5_000
"""Clicks, or events, from which on an hour of the day that is not over is counted ahead too."""

_PAUSE_SECONDS: Final = 600.0
"""The pause between two looks at all accounts, and the least age of a day that is looked at."""

_LEASE_SECONDS: Final = 60.0
_BUSY_SECONDS: Final = 1.0


class JointCounting:
    """The part of a drain that counts finished days ahead."""

    def __init__(self, mongodb: MongoDB, redis: Redis, backlog: Backlog | None = None) -> None:
        self._database = mongodb.database
        self._reader = mongodb.reads
        self._backlog = backlog or Backlog(redis)
        self._lease = Lease(redis, keys.JOINT_COUNTS_LEASE, _LEASE_SECONDS)
        self._worked_since = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Count days until `stop` is set; the one in progress is given up then."""
        await self._lease.run_until(stop, self._work())

    async def _work(self) -> None:
        while True:
            try:
                if await self._lease.hold():
                    await self.count_days()
            except (PyMongoError, RedisError) as error:
                log.warning("days are not counted ahead", error=type(error).__name__)
            await asyncio.sleep(_PAUSE_SECONDS * random.uniform(0.5, 1))  # noqa: S311

    async def count_days(self) -> int:
        """Count the days, and large hours, that are over and not counted; return their number.

        Raises PyMongoError or RedisError if a store fails.
        """
        counted = 0
        # All at once: MongoDB forgets a cursor that waits for ten minutes.
        for account in await self._reader.find("accounts", {}, ["_id"]):
            calendar, periods = await self._missing(account["_id"])
            for period in periods:
                counted += await self._count(account["_id"], calendar, period)
        return counted

    async def _count(self, account_id: UUID, calendar: Calendar, period: Period) -> bool:
        """Count a period of a calendar; return whether it did.

        Not if MongoDB refuses: others must not wait for one that is too large. Nor if the account
        has changed its zone since the period was found, whose name now means other moments.
        """
        async with self._reader.at_one_snapshot() as reader:
            scope, snapshot = await self._reading(account_id, reader)
            if scope.calendar is not calendar:
                return False
            counts = Counts(self._database, scope, snapshot)
            try:
                with pymongo.timeout(RECOUNT_SECONDS):
                    await counts.tables(ALL_COUNTED, [period])
            except OperationFailure as error:
                log.warning(
                    "a period is not counted ahead",
                    account_id=str(account_id),
                    period=period.key,
                    error=type(error).__name__,
                )
                return False
        return True

    async def _missing(self, account_id: UUID) -> tuple[Calendar, list[Period]]:
        """Return an account's calendar, and its periods whose counts are missing or outdated."""
        async with self._reader.at_one_snapshot() as reader:
            scope, snapshot = await self._reading(account_id, reader)
            today = scope.calendar.day_of(snapshot.now)
            days = [
                day_period(scope.calendar, today - timedelta(number)) for number in range(DAYS + 1)
            ]
            over = [one for one in days if is_over(one, snapshot.now)]
            hours = [
                hour
                for day in days
                if day not in over
                for hour in hours_of(scope.calendar, day.first)
                if is_over(hour, snapshot.now)
            ]
            counts = Counts(self._database, scope, snapshot)
            found = await counts.missing(ALL_COUNTED, over)
            found += await counts.missing(ALL_COUNTED, hours, LARGE_HOUR)
            return scope.calendar, found

    async def _reading(self, account_id: UUID, reader: Reader) -> tuple[Scope, Snapshot]:
        calendar = (await moment_of(reader, account_id)).calendar
        return Scope(account_id, calendar), Snapshot(reader, now(), self._wait_until_idle)

    async def _wait_until_idle(self) -> None:
        """Rest as long as was worked since the last call, and until the journal is short."""
        worked = time.monotonic() - self._worked_since
        await asyncio.sleep(min(worked, _BUSY_SECONDS))
        while (await self._backlog.measure()).entries > IDLE_ENTRIES:  # noqa: ASYNC110
            await asyncio.sleep(_BUSY_SECONDS)
        await self._lease.hold()
        self._worked_since = time.monotonic()
