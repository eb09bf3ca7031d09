"""Joint counts of periods by all dimensions, made before a report needs them.

One drain materialises them, by a lease, while drains keep up with the journal. Joint counts by
fewer dimensions are aggregated from them, also after the clicks have expired. A large day is
counted by the hour, to limit time and memory. An hour above the limit of a day has none.

An account is checked when it has new arrivals, within a minute after a burst of clicks, and when
its day is over. An account without arrivals costs nothing.
"""

import asyncio
import random
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import pymongo
import structlog
from pymongo.errors import OperationFailure, PyMongoError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.clock import now
from tracker.feeds.arrivals import STORED_DAYS, bytes_by_account, first_stored
from tracker.journal.backlog import Backlog
from tracker.journal.overflow import BEHIND_MS
from tracker.loops import sleep_in_step
from tracker.reports import arrays
from tracker.reports.dimensions import DOCUMENT_KINDS
from tracker.reports.joint_counts.due_accounts import DueAccounts, StoredTally
from tracker.reports.joint_counts.hour_so_far import STORING_TIME
from tracker.reports.joint_counts.missing import missing_periods
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scope import scope_of
from tracker.reports.joint_counts.tables import JointTables
from tracker.reports.limits import RECOUNT_SECONDS
from tracker.reports.periods import ALLOWED_LATENESS, Period, day_period, hours_of, is_over
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.redis import keys
from tracker.stores.redis.lease import Lease

log = structlog.get_logger(__name__)

DAYS: Final = 35
"""Days back from today that are counted ahead: the default range of reports."""

LARGE_HOUR: Final = 1_000
"""Clicks or events above which an hour of an unfinished day is counted ahead too."""

BUSY_BYTES: Final = 16 * LARGE_HOUR // 12
"""An account is checked again on the same day if its new arrivals have more bytes than this: five
minutes of a large hour."""

MANY_STORED: Final = 20_000
"""An account is checked again after a drain has stored this many of its clicks and events. A report
counts 20,000 in 100 ms. A burst at this rate is awaited first."""

_LOOK_SECONDS: Final = 10.0
"""The pause between two checks of the queue."""

_PAUSE_SECONDS: Final = 600.0
"""The pause between two reads of arrivals."""

_COMMITTED_AFTER: Final = timedelta(minutes=2)
"""Arrivals are read at this age: the transaction of a younger one may still be open."""

_ARRIVALS_AT_ONCE: Final = timedelta(minutes=10)

_RETRY_AFTER: Final = timedelta(hours=1)
"""The pause after MongoDB has refused to read an account."""

_CLAIMED_FOR: Final = timedelta(minutes=10)
"""The lifetime of a claim: if its drain dies, the account is due again."""

_LEASE_SECONDS: Final = 60.0
_BUSY_SECONDS: Final = 1.0


class JointCounting:
    """The loop of a drain that counts finished periods ahead."""

    def __init__(
        self, mongodb: MongoDB, redis: Redis, backlog: Backlog, stored: StoredTally
    ) -> None:
        self._database = mongodb.database
        self._reader = mongodb.reads
        self._backlog = backlog
        self._due = DueAccounts(mongodb.database)
        self._stored = stored
        self._lease = Lease(redis, keys.JOINT_COUNTS_LEASE, _LEASE_SECONDS)
        self._worked_since = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Count days until `stop` is set; the one in progress is cancelled then."""
        await self._lease.run_until(stop, self._work())

    async def _work(self) -> None:
        arrivals_at = 0.0
        while True:
            try:
                await self.add_stored()
                if await self._lease.acquire():
                    if time.monotonic() < arrivals_at:
                        await self.count_due()
                    else:
                        await self.count_days()
                        pause = _PAUSE_SECONDS * random.uniform(0.5, 1)  # noqa: S311
                        arrivals_at = time.monotonic() + pause
            except (PyMongoError, RedisError) as error:
                log.warning("days are not counted ahead", error=type(error).__name__)
                await asyncio.sleep(_LEASE_SECONDS)
            await sleep_in_step(_LOOK_SECONDS)

    async def add_stored(self) -> None:
        """Make accounts due that had a burst, at the time when its clicks may be cached."""
        if many := self._stored.take(MANY_STORED):
            await self._due.hasten(many, now() + STORING_TIME)

    async def count_days(self) -> int:
        """Make accounts with new arrivals due, then count all that are due; return the periods."""
        await self._add_arrivals()
        return await self.count_due()

    async def count_due(self) -> int:
        """Count the finished days and large hours that lack counts; return their number."""
        counted = 0
        while account_ids := await self._due.at(now()):
            for account_id in account_ids:
                # After midnight many are due: drains come first, and the lease must not end.
                await self._wait_for_drains()
                counted += await self._count_account(account_id)
        return counted

    async def _add_arrivals(self) -> None:
        """Make the accounts with new arrivals due."""
        until = now() - _COMMITTED_AFTER
        earliest = until - timedelta(STORED_DAYS)
        read_to = max(await self._due.arrivals_read_to() or earliest, earliest)
        while first := await first_stored(self._reader, read_to, until):
            after, read_to = read_to, min(first + _ARRIVALS_AT_ONCE, until)
            with pymongo.timeout(RECOUNT_SECONDS):
                found = await bytes_by_account(self._reader, after, read_to)
            await self._due.add(found, now())
            busy = [one for one, size in found.items() if size > BUSY_BYTES]
            await self._due.hasten(busy, now())
            await self._due.set_arrivals_read_to(read_to)
        await self._due.set_arrivals_read_to(max(read_to, until))

    async def _count_account(self, account_id: UUID) -> int:
        """Count the missing periods of an account, and put it off until its day is over."""
        claimed = now() + _CLAIMED_FOR
        await self._due.claim(account_id, claimed)
        try:
            periods, next_at = await self._missing(account_id)
        except OperationFailure as error:
            _log_refusal(account_id, error)
            await self._due.put_off(account_id, claimed, now() + _RETRY_AFTER)
            return 0
        counted = 0
        for period in periods:
            counted += await self._count(account_id, period)
        await self._due.put_off(account_id, claimed, next_at)
        return counted

    async def _count(self, account_id: UUID, period: Period) -> bool:
        """Count a period. Return False if MongoDB refuses."""
        await arrays.load()
        async with self._reader.at_one_snapshot() as reader:
            run = await self._run_of(account_id, reader)
            counts = JointTables(run, run.scope)
            try:
                with pymongo.timeout(RECOUNT_SECONDS):
                    await counts.tables(run.scope.dimensions, [period])
            except OperationFailure as error:
                _log_refusal(account_id, error, period=period.key)
                return False
        return True

    async def _missing(self, account_id: UUID) -> tuple[list[Period], datetime | None]:
        """Return the periods whose counts are missing or outdated, and when an unfinished day with
        clicks or conversions is over; None without one.
        """
        async with self._reader.at_one_snapshot() as reader:
            run = await self._run_of(account_id, reader)
            calendar = run.scope.calendar
            today = calendar.day_of(run.at)
            days = [day_period(calendar, today - timedelta(number)) for number in range(DAYS + 1)]
            over = [one for one in days if is_over(one, run.at)]
            unfinished = [one for one in days if one not in over]
            hours = [
                hour
                for day in unfinished
                for hour in hours_of(calendar, day.first)
                if hour.start <= run.at
            ]
            missing = partial(missing_periods, run, run.scope.dimensions)
            found = await missing(over) + await missing(hours, LARGE_HOUR)
            return found, await _end_of_used(unfinished, run)

    async def _run_of(self, account_id: UUID, reader: MongoReads) -> ReportRun:
        scope = await scope_of(reader, account_id)
        return ReportRun(self._database, reader, scope, now(), self._wait_for_drains)

    async def _wait_for_drains(self) -> None:
        """Rest for the time worked since the last call, and while drains are behind."""
        worked = time.monotonic() - self._worked_since
        await asyncio.sleep(min(worked, _BUSY_SECONDS))
        while (await self._backlog.measure()).oldest_ms > BEHIND_MS:  # noqa: ASYNC110
            await asyncio.sleep(_BUSY_SECONDS)
        await self._lease.acquire()
        self._worked_since = time.monotonic()


def _log_refusal(account_id: UUID, error: OperationFailure, **of: str) -> None:
    found = type(error).__name__
    log.warning("an account is not counted ahead", account_id=str(account_id), **of, error=found)


async def _end_of_used(days: Sequence[Period], run: ReportRun) -> datetime | None:
    """Return when the first of these days that has clicks or conversions is over."""
    fingerprints = run.fingerprints_of(run.scope)
    await fingerprints.read(days)
    used = [day.end for day in days if any(map(fingerprints.of(day).count, DOCUMENT_KINDS))]
    return min(used) + ALLOWED_LATENESS if used else None
