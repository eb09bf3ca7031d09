"""A loop of each drain tells webhooks of what rules find. Drains share the rules by claims."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

import msgspec
import structlog

from tracker.alerts.reading import Outcome, read_alert, read_summary
from tracker.alerts.rules import Rule, Rules
from tracker.calendar import Calendar
from tracker.clock import now
from tracker.errors import TrackerError
from tracker.journal.services import JournalServices
from tracker.loops import run_until, sleep_in_step
from tracker.reports.api.filters import ReportFilters
from tracker.reports.joint_counts.scope import scope_of
from tracker.reports.services import ReportServices
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.reads import MongoReads

INTERVAL_SECONDS: Final = 10.0
READ_SECONDS: Final = 10.0
BEHIND: Final = timedelta(minutes=1)
PATIENCE: Final = timedelta(minutes=20)
"""The time after an hour in which a look waits for the spool and the overflow. The flood of one
account may fill that for longer, and others' alerts do not wait for it."""

AFTER_PROBLEM: Final = timedelta(minutes=10)
AFTER_SLOW: Final = timedelta(hours=6)
"""With READ_SECONDS and the most rules, an account whose reports are slower takes 5 % of a loop,
and one whose reports end just in time 14 %."""


class _Filtered(msgspec.Struct):
    filters: ReportFilters = msgspec.field(default_factory=ReportFilters)


Read = Callable[[ReportServices, Rule, Calendar, datetime], Awaitable[Outcome]]

log = structlog.get_logger(__name__)


class Telling:
    """The loop. `alerts` and `summaries` are looked at as they become due."""

    def __init__(
        self,
        mongodb: MongoDB,
        reports: ReportServices,
        journal: JournalServices,
        alerts: Rules,
        summaries: Rules,
    ) -> None:
        self._reads = mongodb.reads
        self._reports = reports
        self._journal = journal
        self._kinds: tuple[tuple[Rules, Read], ...] = (
            (alerts, read_alert),
            (summaries, read_summary),
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set, which also cancels the work in progress."""
        await run_until(stop, self._work())

    async def _work(self) -> None:
        while True:
            if not await self.tell_next(now()):
                await sleep_in_step(INTERVAL_SECONDS)

    async def tell_next(self, at: datetime) -> bool:
        """Look at the first rule of each kind that is due; return whether there was one."""
        found = False
        for rules, read in self._kinds:
            if rule := await rules.claim(at):
                found = True
                changes, told = await self._outcome(rule, read, at)
                await rules.conclude(rule, changes, told)
        return found

    async def _outcome(self, rule: Rule, read: Read, at: datetime) -> Outcome:
        calendar = (await scope_of(self._reads, rule.account_id)).calendar
        begun = calendar.start_of_hour(*calendar.day_and_hour(at))
        # Clicks of the hours before may still be in the journal.
        waiting, may_wait = await self._waiting()
        is_behind, is_late = at - waiting < begun, at - may_wait < begun
        if is_behind or (is_late and at - begun < PATIENCE):
            return Outcome({"due_at": at + BEHIND})
        outcome = await self._read(rule, read, calendar, at)
        if is_late and outcome.told is not None:
            text = f"{outcome.told['text']} (without clicks that are not stored yet)"
            return outcome._replace(told={**outcome.told, "text": text})
        return outcome

    async def _waiting(self) -> tuple[timedelta, timedelta]:
        """Return the longest wait in the partitions, and in the overflow or the spool."""
        *streams, overflow = await self._journal.backlog.measure_each()
        try:
            is_spooled = not await self._journal.journal.spool.is_empty()
        except OSError:
            is_spooled = True
        waiting = [max(one.oldest_ms for one in streams), overflow.oldest_ms]
        longest, last = (timedelta(milliseconds=one) for one in waiting)
        return longest, timedelta(days=1) if is_spooled else last

    async def _read(self, rule: Rule, read: Read, calendar: Calendar, at: datetime) -> Outcome:
        later, problem = AFTER_PROBLEM, await problem_of(self._reads, rule)
        if problem is None:
            try:
                async with asyncio.timeout(READ_SECONDS):
                    return await read(self._reports, rule, calendar, at)
            except TrackerError as error:
                problem = error.message
            except TimeoutError:
                later, problem = AFTER_SLOW, "its report takes too long"
            except Exception as error:
                log.error("rule not read", rule_id=str(rule.id), exc_info=error)
                later, problem = AFTER_SLOW, "the service could not read its report"
        return Outcome({"due_at": at + later, "problem": problem})


async def problem_of(reads: MongoReads, rule: Rule) -> str | None:
    """Return why a rule cannot be told, if so."""
    webhook = await reads.find_one("webhooks", {"_id": rule.webhook_id}, ["active"])
    if webhook is None or not webhook["active"]:
        return f"its webhook is {'deleted' if webhook is None else 'inactive'}"
    links = msgspec.json.decode(rule.rule, type=_Filtered).filters.values().get("link", [])
    of_account = {"account_id": rule.account_id, "archived": False}
    if links and not await reads.count("links", {"_id": {"$in": links}, **of_account}):
        return "the links of its filter are archived or deleted"
    return None
