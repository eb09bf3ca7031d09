"""Counts by tag, from counts by link. A tag in a report is one that the link has now."""

from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from typing import Final
from uuid import UUID

from tracker.errors import BadRequest
from tracker.ids import id_text
from tracker.reports import limits
from tracker.reports.arrays import np
from tracker.reports.columns import Columns, column_of
from tracker.reports.dimensions import CURRENCY, LINK, TAG
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.threads import in_thread_if_large
from tracker.stores.mongodb.documents import StoredId
from tracker.stores.mongodb.reads import MongoReads
from tracker.visitor_dimensions import UNKNOWN

_LINKS_AT_ONCE: Final = 2000
"""Links of one query: 4 ms to decode."""

TagsOfLinks = Mapping[str, Sequence[str]]


async def by_tag(run: ReportRun, table: Columns, within: Collection[UUID] | None) -> Columns:
    """Return the counts of each link once for each of its tags, as below."""
    names = [name for name in (LINK, CURRENCY) if name in table.dimensions]
    return await repeated_by_tag(run, table.by(names), within)


async def repeated_by_tag(
    run: ReportRun, table: Columns, within: Collection[UUID] | None = None
) -> Columns:
    """Return the rows of each link once for each of its tags, or of those `within` a limit, with a
    column of tags.
    """
    found = await in_thread_if_large(table.rows, _repeated, table, await _tags(run, table))
    return found if within is None else found.where(TAG, frozenset(map(str, within)))


async def with_tag(run: ReportRun, table: Columns, tag: str) -> Columns:
    """Return the counts of links with a tag."""
    tags = await _tags(run, table)
    links = frozenset(link for link, of_link in tags.items() if tag in of_link)
    return await in_thread_if_large(table.rows, table.where, LINK, links)


async def _tags(run: ReportRun, table: Columns) -> TagsOfLinks:
    """Return the tags of the links of a table."""
    links = [one for one in table.dimensions[LINK].values if one != UNKNOWN]
    await run.memory.take(len(links) * limits.ROW_BYTES)
    return await _tags_of(run.reader.with_binary_ids(), run.scope.account_id, links)


async def _tags_of(reader: MongoReads, account_id: UUID, links: Sequence[str]) -> TagsOfLinks:
    found: dict[str, Sequence[str]] = {}
    for first in range(0, len(links), _LINKS_AT_ONCE):
        ids = await in_thread_if_large(len(links), _ids, links[first : first + _LINKS_AT_ONCE])
        tagged = {"_id": {"$in": ids}, "account_id": StoredId(account_id.bytes)}
        # MongoDB groups the links by their tags: a row for each takes Python four times as long.
        by_tags = {"$group": {"_id": "$tags", "links": {"$push": "$_id"}}}
        for row in await reader.aggregate("links", [{"$match": tagged}, by_tags]):
            tags = list(map(id_text, row["_id"]))
            found.update(zip(map(id_text, row["links"]), repeat(tags), strict=False))
    return found


def _ids(texts: Sequence[str]) -> list[StoredId]:
    return [StoredId(bytes.fromhex(one.replace("-", ""))) for one in texts]


def _repeated(table: Columns, tags_of: TagsOfLinks) -> Columns:
    """Raises BadRequest if that makes too many rows."""
    tags_of_rows = [tags_of.get(link, ()) for link in table.dimensions[LINK].in_rows()]
    if sum(map(len, tags_of_rows)) > limits.MAX_ROWS:
        rule = f"more than {limits.MAX_ROWS:,} values of tags; ask for fewer days"
        raise BadRequest(f"report: these days have {rule}")
    rows = [number for number, tags in enumerate(tags_of_rows) for _ in tags]
    repeated = table.of_rows(np.array(rows, np.int64))
    return repeated.with_column(TAG, column_of([tag for tags in tags_of_rows for tag in tags]))
