"""YOURLS: SQL dumps with any prefix, its API, and the CSV of its export plugin."""

from collections.abc import AsyncIterator, Iterable
from datetime import UTC, tzinfo
from functools import partial
from typing import Any, Final

from tracker.errors import BadRequest
from tracker.imports.item import SourceItem, SourceLink
from tracker.imports.readers import fields
from tracker.imports.readers.csv_links import csv_format
from tracker.imports.readers.fields import Record, items_of
from tracker.imports.readers.json_records import listed, offset, pages
from tracker.imports.readers.sql_dump import SqlRow, sql_format
from tracker.imports.source import Get, Items, Parameters, Source

_TABLES: Final = {
    "url": "keyword url title timestamp ip clicks",
    "log": "click_id click_time shorturl referrer user_agent ip_address country_code",
}
_API: Final = "yourls-api.php"
_PAGE: Final = 500


def _row(number: int, row: SqlRow) -> Iterable[SourceItem]:
    if row.table == "url":
        return _link(number, row.values, row.zone)
    return _visit(row.values["shorturl"] or "", int(row.values["click_id"] or ""), row.values)


def _link(number: int, record: Record, zone: tzinfo = UTC) -> Iterable[SourceItem]:
    yield fields.link(
        number,
        record,
        "destination_url:url internal_name:title clicks",
        path=record.get("keyword") or fields.short_url(record["shorturl"])[1],
        created_at=fields.moment("timestamp", record.get("timestamp"), zone),
        pass_query=False,
    )


def _visit(path: str, number: int, record: Record) -> Iterable[SourceItem]:
    names = "click_time referrer user_agent country_code"
    yield fields.visit(fields.link_id(None, path), number, record, names)


async def _read_api(get: Get) -> Items:
    """With the import plugin visits come along, else only links."""
    call: Parameters = {"format": "json"}
    try:
        answer = await get(_API, {**call, "action": "shlink-list"})
    except BadRequest as error:
        yield fields.refused(0, f"visits: come by the import plugin alone: {error.message}")
        stats = {**call, "action": "stats", "filter": "last", "limit": _PAGE, "start": 0}
        links = pages(get, _API, stats, "links", offset("start", _PAGE))
    else:
        links, stats = _alone(listed(_API, answer, "result")), {}
    async for item in items_of(links, _link):
        yield item
        if not stats and isinstance(item, SourceLink) and item.clicks != 0:
            path = {**call, "action": "shlink-link-visits", "shortCode": item.path}
            try:
                visits = listed(_API, await get(_API, path), "result")
            except BadRequest as error:  # an answer has all visits, and a limit of bytes
                yield fields.refused(item.row, f"visits: of {item.path} stay in its total: {error}")
                continue
            visits.sort(key=lambda visit: str(visit["click_time"]))
            made = items_of(_alone(visits), partial(_visit, item.path))
            async for visit in fields.numbered(made):
                yield visit


async def _alone(batch: list[Any]) -> AsyncIterator[list[Any]]:
    yield batch


YOURLS: Final = Source(
    name="yourls",
    label="YOURLS",
    files=(
        sql_format(_TABLES, lambda: _row),
        csv_format("CSV of the export plugin", "source_url", "destination_url", pass_query=False),
    ),
    key_parameters=lambda key: {"signature": key},
    read_api=_read_api,
)
