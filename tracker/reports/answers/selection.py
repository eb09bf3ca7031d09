"""The links and values that pass the filters of a query."""

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from tracker.ids import id_text, parse_id
from tracker.reports.answers.rows import key_column
from tracker.reports.answers.tags import with_tag
from tracker.reports.arrays import np
from tracker.reports.columns import Columns, passing
from tracker.reports.counted import text_of, wanted_values
from tracker.reports.dimensions import (
    CURRENCY,
    DIMENSIONS,
    DOCUMENT_KINDS,
    HOME_CURRENCY,
    LINK,
    TAG,
    DocumentKind,
)
from tracker.reports.filters import Condition
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.query import ReportQuery
from tracker.reports.threads import in_thread_if_large
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.visitor_dimensions import UNKNOWN

_LINKS_PER_BATCH: Final = 1000
"""Links of a filter by tag in one batch: 3 ms to decode."""


class Selection(NamedTuple):
    """The links of filters by link and tag, None without such filters, and all stored values.

    `values` are by counted dimension, links among them, as are further `conditions` on them.
    `crossed` are further dimensions to count by, for events alone if the currency is one, else for
    clicks alone.
    """

    links: Sequence[UUID] | None
    values: Mapping[str, frozenset[str]]
    crossed: Sequence[str] = ()
    conditions: Mapping[str, Condition] = {}

    @property
    def passing(self) -> Sequence[tuple[str, Container[str]]]:
        """Return the values that pass, by counted dimension. A row must pass all."""
        return [*self.values.items(), *self.conditions.items()]

    @property
    def kinds(self) -> Sequence[DocumentKind]:
        if not self.crossed:
            return DOCUMENT_KINDS
        return ("events",) if CURRENCY in self.crossed else ("clicks",)


def resolved(scope: ReportScope, query: ReportQuery, field: str = "groupBy") -> ReportQuery:
    """Return a query of the API with its own parameters as they are counted.

    Raises BadRequest, which names the filter or the `field` of the group, for unknown ones.
    """
    found = {
        of: {
            scope.dimension_of(f"filters.{name}", name): values
            for name, values in getattr(query, of).items()
        }
        for of in ("filters", "excluded", "containing", "not_containing")
    }
    group_by = scope.dimension_of(field, query.group_by)
    levels = [scope.dimension_of(f"{field}[{at}]", one) for at, one in enumerate(query.levels)]
    return replace(query, group_by=group_by, levels=levels, **found)


def narrowed(scope: ReportScope, query: ReportQuery) -> ReportQuery:
    """Return the query without levels below its rows, and with parents as filters.

    With costs of periods it stays: their parts are rounded in the table of all levels. Raises
    BadRequest if a parent is no id.
    """
    if scope.has_costs:
        return query
    filters: dict[str, Any] = {**query.filters}
    for name, key in zip(query.levels, query.parents, strict=False):
        if DIMENSIONS[name].filter is None or name in filters:
            continue
        if name not in (LINK, TAG):
            filters[name] = [key]
        elif key != UNKNOWN:
            filters[name] = [parse_id("parents", key)]
    return replace(query, levels=query.levels[: len(query.parents) + 1], filters=filters)


async def of_parents(run: ReportRun, query: ReportQuery, table: Columns) -> Columns:
    """Return the counts of the row of a query's parents."""
    for name, key in zip(query.levels, query.parents, strict=False):
        if name == TAG:
            is_seen = query.within is None or key in map(str, query.within)
            table = await with_tag(run, table, key if is_seen else UNKNOWN)
        else:
            table = await in_thread_if_large(table.rows, _of_key, run, table, name, key)
    return table


def _of_key(run: ReportRun, table: Columns, name: str, key: str) -> Columns:
    column = key_column(table, name, run.scope, run.host)
    return table.of_rows(np.flatnonzero(passing(column.values, {key})[column.codes]))


async def selection_of(run: ReportRun, query: ReportQuery) -> Selection:
    values: dict[str, frozenset[str]] = {}
    links = await _links(run, query)
    if links is not None:
        # Once for all tables: a range has two a day.
        values[LINK] = await in_thread_if_large(len(links), _texts, links)
    for name in query.filters.keys() - {LINK, TAG}:
        counted, wanted = wanted_values(name, query.filters[name], run.host)
        values[counted] = values.get(counted, frozenset(wanted)).intersection(wanted)
    if run.scope.currency in values.get(CURRENCY, ()):
        values[CURRENCY] |= {HOME_CURRENCY}
    return Selection(links, values, conditions=await _conditions(run, query))


async def _conditions(run: ReportRun, query: ReportQuery) -> Mapping[str, Condition]:
    refused = {LINK: await _refused_links(run, query)}
    for name in query.excluded.keys() - {LINK, TAG}:
        counted, values = wanted_values(name, query.excluded[name], run.host)
        refused[counted] = refused.get(counted, frozenset()).union(values)
    if run.scope.currency in refused.get(CURRENCY, ()):
        refused[CURRENCY] |= {HOME_CURRENCY}
    # Texts in the names of links have found links already.
    having, without = (
        {name: [one.casefold() for one in texts] for name, texts in of.items() if name != LINK}
        for of in (query.containing, query.not_containing)
    )
    return {
        name: Condition(found, having.get(name, ()), without.get(name, ()), text_of(name, run.host))
        for name in {*refused, *having, *without}
        if (found := refused.get(name, frozenset())) or name != LINK
    }


async def _links(run: ReportRun, query: ReportQuery) -> Sequence[UUID] | None:
    """Return the links that pass the filters by link and tag, refused ones too.

    Other accounts' ids are harmless: counts match the account too.
    """
    ids, tags, texts = query.filters.get(LINK), query.filters.get(TAG), query.containing.get(LINK)
    if tags is None and texts is None:
        return None if ids is None else [UUID(str(one)) for one in ids]
    matching: dict[str, Any] = {}
    if tags is not None:
        matching["tags"] = {"$all" if query.all_tags else "$in": list(tags)}
    if texts is not None:
        matching["internal_name"] = _with_any_of(texts)
    if ids is not None:
        matching["_id"] = {"$in": list(ids)}
    return await _found(run, matching)


async def _refused_links(run: ReportRun, query: ReportQuery) -> frozenset[str]:
    refused = frozenset(map(str, query.excluded.get(LINK, ())))
    wanted: list[dict[str, Any]] = []
    if TAG in query.excluded:
        wanted.append({"tags": {"$in": list(query.excluded[TAG])}})
    if LINK in query.not_containing:
        wanted.append({"internal_name": _with_any_of(query.not_containing[LINK])})
    for matching in wanted:
        found = await _found(run, matching)
        refused |= await in_thread_if_large(len(found), _texts, found)
    return refused


def _with_any_of(texts: Sequence[str]) -> dict[str, str]:
    return {"$regex": "|".join(map(re.escape, texts)), "$options": "i"}


async def _found(run: ReportRun, matching: Mapping[str, Any]) -> Sequence[UUID]:
    """Return the account's links that match, which are found once for all parts of a request."""
    known = run.links.get(str(matching))
    if known is None:
        wanted = with_stored_ids({"account_id": run.scope.account_id, **matching})
        # There may be 100,000: the driver takes twice as long to make UUIDs.
        found = run.reader.with_binary_ids().find_each(
            "links", wanted, ["_id"], batch_size=_LINKS_PER_BATCH
        )
        known = run.links[str(matching)] = [UUID(bytes=row["_id"]) async for row in found]
    return known


def _texts(links: Sequence[UUID]) -> frozenset[str]:
    return frozenset(id_text(link.bytes) for link in links)
