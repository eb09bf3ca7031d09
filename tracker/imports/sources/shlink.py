"""Shlink: its API with rules and visits, the CSVs of its clients, and the CSV that it imports."""

from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from tracker.clock import now
from tracker.errors import BadRequest
from tracker.imports.item import SourceItem, SourceLink
from tracker.imports.readers import fields
from tracker.imports.readers.csv_links import (
    CsvRows,
    columns_of,
    csv_format,
)
from tracker.imports.readers.fields import Record, items_of, numbered
from tracker.imports.readers.json_records import listed, pages
from tracker.imports.source import Columns, FileFormat, Get, Items, Parameters, Pieces, Source
from tracker.imports.sources.shlink_rules import rules_of
from tracker.syntax.csv_rows import csv_batches, first_rows

_LINKS: Final = "rest/v3/short-urls"
_PAGE: Final = 500
_MARGIN: Final = timedelta(minutes=1)
"""Clocks may differ so much: a second whose visits are read is over."""
_ORPHANS: Final = ("invalid_short_url", "base_url", "regular_404")
_VISIT_FIELDS: Final = "visitedurl date potentialbot useragent referer country type"
_VISIT_HEADINGS: Final = {name: name for name in _VISIT_FIELDS.split()}


def _link(number: int, record: Record) -> Iterable[SourceItem]:
    visits = record.get("visitsSummary") or {"total": record.get("visitsCount")}
    passes = record.get("forwardQuery", True)
    rules = rules_of(record.get("redirectRules", []))
    yield fields.link(
        number,
        {**record, **record["meta"], "visits": visits["total"]},
        "destination_url:longUrl internal_name:title tags created_at:dateCreated clicks:visits"
        " starts_at:validSince expires_at:validUntil max_clicks:maxVisits",
        domain_name=record["domain"],
        path=record["shortCode"],
        pass_query=passes,
        rules=tuple(rules.rules),
        losses=(
            *rules.losses,
            *fields.losses(record, {"no robots.txt names links": "crawlable"}),
            *(fields.query_loss(record["longUrl"]) if passes else ()),
        ),
    )


def _visit(link_id: str, _: int, record: Record) -> Iterable[SourceItem]:
    place = record.get("visitLocation") or {}
    names, is_bot = "date referer userAgent countryCode", record.get("potentialBot") is True
    yield fields.visit(link_id, 0, {**record, **place}, names, is_bot)


def _following(list_: str, sent: Parameters, answer: Any, _: list[Any]) -> Parameters | None:
    page, last = int(sent["page"]), answer[list_]["pagination"]["pagesCount"]
    return {"page": page + 1} if page < last else None


async def _with_rules(get: Get) -> AsyncIterator[list[Any]]:
    first: Parameters = {"page": 1, "itemsPerPage": _PAGE, "orderBy": "dateCreated-ASC"}
    following = partial(_following, "shortUrls")
    async for batch in pages(get, _LINKS, first, "shortUrls.data", following):
        for one in batch:
            if one.get("hasRedirectRules"):
                path = _path(one["shortCode"], "redirect-rules")
                rules = await get(path, _domain(one["domain"]))
                one["redirectRules"] = listed(path, rules, "redirectRules")
        yield batch


def _path(code: str, of: str) -> str:
    return f"{_LINKS}/{quote(code, safe='')}/{of}"


def _domain(name: str | None) -> Parameters:
    return {"domain": name} if name else {}


async def _read_api(get: Get) -> Items:
    # Pages begin with the newest visit: later ones would move them.
    until = (now() - _MARGIN).isoformat(timespec="seconds")
    first: Parameters = {"page": 1, "itemsPerPage": _PAGE, "endDate": until}
    async for item in items_of(_with_rules(get), _link):
        yield item
        if isinstance(item, SourceLink) and item.clicks:
            sent = {**_domain(item.domain_name), **first}
            path, following = _path(item.path, "visits"), partial(_following, "visits")
            visits = pages(get, path, sent, "visits.data", following)
            async for visit in numbered(items_of(visits, partial(_visit, item.id))):
                yield visit


def _csv_visit(_: int, record: Record) -> Iterable[SourceItem]:
    if record.get("type") in _ORPHANS or not record.get("visitedurl"):
        raise BadRequest("visitedUrl: is that of no link")
    link_id = fields.link_id(*fields.short_url(record["visitedurl"]))
    is_bot = record.get("potentialbot", "").lower() in ("true", "1", "potential bot")
    yield fields.visit(link_id, 0, record, "date referer useragent country", is_bot)


def _are_visits(head: bytes) -> bool:
    rows = first_rows(head)
    return bool(rows) and {"visitedurl", "date"} <= set(columns_of(rows[0], _VISIT_HEADINGS))


def _read_visits(pieces: Pieces, _: Columns) -> Items:
    rows = CsvRows(_csv_visit, {}, _VISIT_HEADINGS)
    return numbered(items_of(csv_batches(pieces), rows))


SHLINK: Final = Source(
    name="shlink",
    label="Shlink",
    files=(
        FileFormat("CSV of visits", _are_visits, _read_visits),
        csv_format(
            "CSV of links, without dates, limits and rules",
            "destination_url",
            replaces_query=True,
        ),
    ),
    key_headers=lambda key: {"X-Api-Key": key},
    read_api=_read_api,
)
