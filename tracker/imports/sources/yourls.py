"""YOURLS: SQL dumps with any prefix, its API, and the CSV of its export plugin."""

from collections.abc import AsyncIterator, Iterable
from datetime import UTC, tzinfo
from functools import partial
from typing import Any, Final

from tracker.errors import BadRequest
from tracker.imports.item import SourceItem, SourceLink, SourceVisit
from tracker.imports.readers import fields
from tracker.imports.readers.api_pages import Parameters, listed, offset, pages
from tracker.imports.readers.fields import Record, items_of
from tracker.imports.readers.mapped_csv import csv_format
from tracker.imports.readers.sql_dump import SqlRow, is_sql, sql_batches
from tracker.imports.source import FileFormat, Items, Source, SourceApi

_TABLES: Final = {
    "url": ("keyword", "url", "title", "timestamp", "ip", "clicks"),
    "log": (
        "click_id", "click_time", "shorturl", "referrer", "user_agent", "ip_address", "country_code"
    ),
}  # fmt: skip
_API: Final = "yourls-api.php"
_PAGE: Final = 500


def _row(number: int, row: SqlRow) -> Iterable[SourceItem]:
    values = row.values
    if row.table == "url":
        yield _link(values["keyword"] or "", number, values, row.zone)
    else:
        yield _visit(values["shorturl"] or "", values, int(values["click_id"] or ""))


def _link(path: str, row: int, record: Record, zone: tzinfo = UTC) -> SourceLink:
    return SourceLink(
        id=fields.link_id(None, path),
        row=row,
        domain_name=None,
        path=path,
        destination_url=fields.destination("url", record["url"]),
        internal_name=fields.line(record.get("title")),
        created_at=fields.moment("timestamp", record.get("timestamp"), zone),
        pass_query=False,
        clicks=fields.count("clicks", record.get("clicks")),
    )


def _visit(path: str, record: Record, number: int = 0) -> SourceVisit:
    referrer = record["referrer"] or ""
    return SourceVisit(
        link_id=fields.link_id(None, path),
        at=fields.required_moment("click_time", record["click_time"]),
        number=number,
        referrer="" if referrer == "direct" else referrer,
        user_agent=record["user_agent"] or "",
        country=fields.country(record["country_code"] or ""),
    )


def _listed(number: int, record: Record) -> Iterable[SourceItem]:
    yield _link(record.get("keyword") or fields.short_url(record["shorturl"])[1], number, record)


def _visits(path: str, _: int, record: Record) -> Iterable[SourceItem]:
    yield _visit(path, record)


async def _read_api(api: SourceApi) -> Items:
    """With the import plugin visits come along, else only links."""
    call: Parameters = {"format": "json"}
    try:
        answer = await api.get(_API, {**call, "action": "shlink-list"})
    except BadRequest:
        stats = {**call, "action": "stats", "filter": "last", "limit": _PAGE, "start": 0}
        records = pages(api, _API, stats, "links", offset("start", _PAGE))
        async for item in items_of(records, _listed):
            yield item
        return
    async for item in items_of(_alone(listed(_API, answer, "result")), _listed):
        yield item
        if isinstance(item, SourceLink) and item.clicks != 0:
            path = {**call, "action": "shlink-link-visits", "shortCode": item.path}
            visits = listed(_API, await api.get(_API, path), "result")
            visits.sort(key=lambda visit: str(visit["click_time"]))
            made = items_of(_alone(visits), partial(_visits, item.path))
            async for visit in fields.numbered(made):
                yield visit


async def _alone(batch: list[Any]) -> AsyncIterator[list[Any]]:
    yield batch


YOURLS: Final = Source(
    name="yourls",
    label="YOURLS",
    files=(
        FileFormat("SQL dump", is_sql, lambda pieces: items_of(sql_batches(pieces, _TABLES), _row)),
        csv_format("CSV of the export plugin", "source_url", "destination_url", pass_query=False),
    ),
    key_headers=lambda _: {},
    key_parameters=lambda key: {"signature": key},
    read_api=_read_api,
)
