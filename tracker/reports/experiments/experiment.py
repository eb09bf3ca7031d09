"""The experiment of a split: the clicks of its variants, and which of them have converted since.

Clicks are read as in every report, from stored sums. Conversions of the variants are read one by
one: 200,000 took 1.1 s on a busy machine.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from tracker.conversions.document import Attribution
from tracker.links.link import Link
from tracker.links.rules.rule import Deciding
from tracker.reports import limits
from tracker.reports.answers.one_report import read_page
from tracker.reports.dimensions import LINK, NO_VALUE, RULE, VARIANT
from tracker.reports.experiments.results import VariantCounts
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.periods import DayRange
from tracker.reports.query import ReportQuery

_MAX_VARIANTS: Final = 100
"""Variants of some days, removed ones too; those with most clicks."""


async def read_experiment(
    run: ReportRun, link: Link, rule_id: UUID | None, days: DayRange
) -> list[VariantCounts]:
    """Return the variants of a rule, or of the link's own split: present ones in order, then older.

    Raises as `ReportRun.part`, `before_counting` and `read_page`.
    """
    rule = NO_VALUE if rule_id is None else str(rule_id)
    query = ReportQuery(
        account_id=link.account_id,
        first=days.first,
        last=days.last,
        group_by=VARIANT,
        filters={LINK: [link.id], RULE: [rule]},
        page_size=_MAX_VARIANTS,
    )
    report = await read_page(run, "report", query)
    rows = {UUID(row.key): row for row in report.rows if row.key != NO_VALUE}
    present = {
        one.id: one
        for decided, split in Deciding(rules=link.rules, split=link.split).splits()
        for one in split.variants
        if rule_id == (decided and decided.id)
    }
    ids = [*present, *sorted(rows.keys() - present.keys())]
    converted = await _converted(run, ids, rule_id, days)
    return [
        VariantCounts(
            id=one,
            name=present[one].name if one in present else rows[one].name,
            weight=present[one].weight if one in present else None,
            active=one in present and present[one].active,
            clicks=rows[one].measures.clicks if one in rows else 0,
            visitors=rows[one].measures.unique_clicks if one in rows else 0,
            conversions=converted.get(one, 0),
        )
        for one in ids
    ]


async def _converted(
    run: ReportRun, ids: Collection[UUID], rule_id: UUID | None, days: DayRange
) -> Mapping[UUID, int]:
    """Return how many clicks of each variant have an approved conversion, whenever it came."""
    calendar = run.scope.calendar
    times = {"$gte": calendar.start_of(days.first), "$lt": calendar.end_of(days.last)}
    indexed = {"variant_id": {"$in": list(ids)}, "click_at": times}
    approved = {"status": Attribution.ATTRIBUTED, "reported": None, "bot": None}
    stages: list[dict[str, Any]] = [
        {"$match": {**indexed, **approved, "rule_id": rule_id}},
        {"$group": {"_id": {"variant": "$variant_id", "click": "$click_id"}}},
        {"$group": {"_id": "$_id.variant", "clicks": {"$sum": 1}}},
    ]
    async with run.part("report"):
        few = limits.FEW_DOCUMENTS
        if await run.reader.count("events", indexed, limit=few, hint="of_variant") == few:
            await run.before_counting()
        rows = await run.reader.aggregate("events", stages, hint="of_variant")
    return {row["_id"]: row["clicks"] for row in rows}
