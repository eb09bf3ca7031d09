"""Counts of an account's test clicks and test conversions.

Rollups and joint counts leave tests out, so the documents are read. They are few: people make them,
or API keys within the limits of requests.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from tracker.calendar import Calendar
from tracker.clicks.document import ONLY_TESTS
from tracker.conversions.document import Attribution
from tracker.errors import BadRequest
from tracker.reports import columns
from tracker.reports.columns import Columns
from tracker.reports.counted import COUNTED_FIELDS, of_kind
from tracker.reports.dimensions import (
    CURRENCY,
    DAY,
    DOCUMENT_KINDS,
    EVENT,
    HOUR,
    LINK,
    NO_EVENT,
    DocumentKind,
)
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scan import MEASURED_FIELDS, table_of
from tracker.reports.joint_counts.unattributed import with_unattributed
from tracker.reports.limits import MAX_TESTS
from tracker.reports.threads import in_thread_if_large
from tracker.stores.mongodb.documents import with_stored_ids

_VALUES: Final = ["at", "link_id", *(one.field for one in COUNTED_FIELDS.values())]
_TESTS: Final[Mapping[DocumentKind, Mapping[str, Any]]] = {
    "clicks": ONLY_TESTS,
    "events": {"status": Attribution.TEST},
}
_INDEXES: Final[Mapping[DocumentKind, str]] = {"clicks": "tests", "events": "log"}


async def count_tests(
    run: ReportRun, names: Sequence[str], first: date, last: date, until: datetime | None = None
) -> Columns:
    """Return the counts by day and these dimensions. Raises BadRequest for too many tests."""
    tables = []
    calendar = run.scope.calendar
    times = {"$gte": calendar.start_of(first), "$lt": until or calendar.end_of(last)}
    by = [DAY, *names]
    for of in DOCUMENT_KINDS:
        found = await _documents(run, of, times)
        tables.append(await in_thread_if_large(len(found), _table, of, found, by, calendar))
    return columns.summed(tables, by)


async def _documents(
    run: ReportRun, of: DocumentKind, times: Mapping[str, datetime]
) -> list[dict[str, Any]]:
    matching = with_stored_ids({**run.scope.documents(), **_TESTS[of], "at": times})
    fields = [*_VALUES, *MEASURED_FIELDS[of], "event_config_id", CURRENCY]
    found = await run.reader.with_binary_ids().find(
        of, matching, fields, hint=_INDEXES[of], limit=MAX_TESTS + 1
    )
    if len(found) > MAX_TESTS:
        raise BadRequest(f"report: at most {MAX_TESTS:,} tests; ask for fewer days")
    return found


def _table(
    of: DocumentKind, documents: Sequence[dict[str, Any]], by: Sequence[str], calendar: Calendar
) -> Columns:
    for one in documents:
        day, hour = calendar.day_and_hour(one["at"])
        event = one.get("event_config_id")
        one |= {DAY: day.isoformat(), HOUR: hour, LINK: one.get("link_id"), EVENT: event}
    names = of_kind(of, by if LINK in by else [*by, LINK])
    table = table_of(of, names, documents).with_missing(by, NO_EVENT)
    return with_unattributed(table).by(by)
