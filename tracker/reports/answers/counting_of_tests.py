"""Counts of an account's test clicks and test conversions.

Rollups and joint counts leave tests out, so the documents are read. They are few: people make them,
or API keys within the limits of requests.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from tracker.calendar import Calendar
from tracker.clicks.document import ONLY_TESTS
from tracker.conversions.document import ConversionStatus
from tracker.errors import BadRequest
from tracker.reports import columns
from tracker.reports.columns import CLICK_MEASURES, EVENT_COUNTS, MONEY, UNATTRIBUTED, Columns
from tracker.reports.counted import COUNTED_FIELDS
from tracker.reports.dimensions import DAY, EVENT, HOUR, LINK, NO_EVENT, NO_KEY, DocumentKind
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.limits import MAX_TESTS
from tracker.reports.rollups.money import billionths
from tracker.reports.threads import in_thread_if_large
from tracker.visitor_dimensions import UNKNOWN

TestDocument = Mapping[str, Any]

_VALUES: Final = ["at", "link_id", *(one.field for one in COUNTED_FIELDS.values())]
_FIELDS: Final[Mapping[DocumentKind, Sequence[str]]] = {
    "clicks": [*_VALUES, "unique"],
    "events": [*_VALUES, "event_config_id", "value", "payout"],
}
_TESTS: Final[Mapping[DocumentKind, Mapping[str, Any]]] = {
    "clicks": ONLY_TESTS,
    "events": {"status": ConversionStatus.TEST},
}
_INDEXES: Final[Mapping[DocumentKind, str]] = {"clicks": "tests", "events": "log"}


async def count_tests(
    run: ReportRun, names: Sequence[str], first: date, last: date, until: datetime | None = None
) -> Columns:
    """Return the counts by day and these dimensions. Raises BadRequest for too many tests."""
    tables = []
    calendar = run.scope.calendar
    times = {"$gte": calendar.start_of(first), "$lt": until or calendar.end_of(last)}
    for of in _FIELDS:
        found = await _documents(run, of, times)
        table = await in_thread_if_large(len(found), _table, of, found, names, calendar)
        tables.append(table)
    by = [DAY, *names]
    return columns.joined(tables, by).by(by)


async def _documents(
    run: ReportRun, of: DocumentKind, times: Mapping[str, datetime]
) -> list[dict[str, Any]]:
    matching = {**run.scope.documents(), **_TESTS[of], "at": times}
    found = await run.reader.find(
        of, matching, list(_FIELDS[of]), hint=_INDEXES[of], limit=MAX_TESTS + 1
    )
    if len(found) > MAX_TESTS:
        raise BadRequest(f"report: at most {MAX_TESTS:,} tests; ask for fewer days")
    return found


def _table(
    of: DocumentKind, documents: Sequence[TestDocument], names: Sequence[str], calendar: Calendar
) -> Columns:
    times = [calendar.day_and_hour(one["at"]) for one in documents]
    dimensions = {
        DAY: [day.isoformat() for day, _ in times],
        **{name: [_value(of, name, one) for one in documents] for name in names if name != HOUR},
        **({HOUR: [f"{hour:02}" for _, hour in times]} if HOUR in names else {}),
    }
    counts = [_clicks(one) if of == "clicks" else _events(one) for one in documents]
    of_kind = CLICK_MEASURES if of == "clicks" else (*EVENT_COUNTS, *MONEY, UNATTRIBUTED)
    measures = {name: [one[name] for one in counts] for name in of_kind}
    return columns.of_columns(dimensions, measures)


def _value(of: DocumentKind, name: str, document: TestDocument) -> str:
    """Return the value of a dimension, as in joint counts."""
    if name == EVENT:
        return NO_EVENT if of == "clicks" else str(document["event_config_id"] or NO_KEY[EVENT])
    if name == LINK:
        return str(document.get("link_id") or NO_KEY[LINK])
    field, absent = COUNTED_FIELDS[name]
    found = document.get(field)
    if found is None:
        return absent if "link_id" in document else UNKNOWN
    return str(found)


def _clicks(click: TestDocument) -> Mapping[str, int]:
    is_bot = click["bot"] is not None
    return {"clicks": int(not is_bot), "unique": int(click["unique"]), "bots": int(is_bot)}


def _events(event: TestDocument) -> Mapping[str, int]:
    money = {name: 0 if event[name] is None else billionths(event[name]) for name in _MONEY}
    own = {"conversions": 1, **money}
    is_bot = event.get("bot") is not None
    of_bots = {f"bot_{name}": own[name] if is_bot else 0 for name in own}
    return {**own, **of_bots, UNATTRIBUTED: int("link_id" not in event)}


_MONEY: Final = ("value", "payout")
