"""CSV of links with columns by their headings, or as the user maps them. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from tracker.errors import BadRequest
from tracker.imports.item import RefusedRow, SourceItem, SourceLink
from tracker.imports.readers import fields
from tracker.imports.readers.csv_rows import csv_batches, first_rows
from tracker.imports.readers.text import HEAD_BYTES
from tracker.imports.source import ColumnMapping, Columns, FileFormat, Items, Pieces, Preview

PREVIEWED: Final = 20

Headings = Mapping[str, str]
"""The headings of each field, without case, spaces and `_`."""

LINK_HEADINGS: Final[Headings] = {
    "id": "linkid id",
    "source_url": "customlink custombitlink shortlink shorturl link bitlink source",
    "aliases": "link bitlink",
    "domain_name": "domain domainname host",
    "path": "shortcode slug keyword path alias backhalf code shortid key address",
    "destination_url": "destinationurl longurl target destination originalurl longlink url",
    "internal_name": "title internalname name label",
    "tags": "tags tag",
    "archived": "archived",
    "active": "active",
    "created_at": "createdat created datecreated creationdate timestamp date",
    "starts_at": "startsat validsince",
    "expires_at": "expiresat expiry expires expiration expirationdate validuntil expireat",
    "expired_url": "expiredurl",
    "max_clicks": "maxclicks maxvisits clickslimit",
    "notes": "notes note comments comment description",
    "external_id": "externalid",
    "password": "password",
    "clicks": "clicks visits hits totalclicks visitcount engagements",
}
_GUARD: Final = re.compile(r"^'(?=[\s\"']*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])")


def _plain(heading: str) -> str:
    return re.sub(r"[\s_]", "", heading).lower()


def guess(headings: Sequence[str], known: Headings = LINK_HEADINGS) -> Columns:
    """Return the column of each field whose heading is there. A column has one field."""
    plain = list(map(_plain, headings))
    found: dict[str, int] = {}
    for field, names in known.items():
        columns = (plain.index(name) for name in names.split() if name in plain)
        free = next((one for one in columns if one not in found.values()), None)
        if free is not None:
            found[field] = free
    return found


class CsvRows:
    """Makes items of rows by `make`. Without `columns` they follow from the first row."""

    def __init__(
        self,
        make: Callable[[int, Mapping[str, str]], Iterable[SourceItem]],
        known: Headings = LINK_HEADINGS,
        columns: Columns | None = None,
        *,
        is_guarded: bool = False,
    ) -> None:
        self._make = make
        self._known = known
        self._columns = columns
        self._is_guarded = is_guarded
        self._is_first = True

    def __call__(self, number: int, cells: Sequence[str]) -> Iterable[SourceItem]:
        if not any(cells):
            return ()
        if self._is_first:
            self._is_first = False
            if self._columns is None:
                self._columns = columns_of(cells, self._known)
            if has_headings(cells):
                return _repeated(number, cells)
        if self._is_guarded:
            cells = [_GUARD.sub("", one) for one in cells]
        wanted = self._columns or {}
        record = {name: cells[at].strip() for name, at in wanted.items() if at < len(cells)}
        try:
            return list(self._make(number, record))
        except BadRequest as error:
            return [fields.refused(number, error.message, record)]


def has_headings(cells: Sequence[str]) -> bool:
    return not any("://" in one for one in cells)


def columns_of(cells: Sequence[str], known: Headings = LINK_HEADINGS) -> Columns:
    """Guess the columns by the first row. Without headings a path follows the destination."""
    if has_headings(cells):
        return guess(cells, known)
    urls = [at for at, one in enumerate(cells) if "://" in one]
    if len(urls) > 1:
        return {"source_url": urls[0], "destination_url": urls[1]}
    return {"destination_url": urls[0], "path": urls[0] + 1}


def _repeated(number: int, headings: Sequence[str]) -> Iterable[RefusedRow]:
    for at, one in enumerate(headings):
        if one and _plain(one) in map(_plain, headings[:at]):
            yield RefusedRow(row=number, field=one, reason="stands twice; the first is read")


def csv_link(
    number: int,
    record: Mapping[str, str],
    *,
    shared_hosts: Sequence[str] = (),
    pass_query: bool = True,
) -> Iterable[SourceLink]:
    """Make a link. At `shared_hosts` everybody's links are: they come to the default domain."""
    printed = record.get("source_url") or record.get("aliases")
    host, path = fields.short_url(printed or "")
    path = record.get("path", "").strip("/") or path
    if not (path or printed):
        raise BadRequest("path: a path or a short URL is required")
    host = record.get("domain_name", "").lower() or host
    others = map(fields.short_url, record.get("aliases", "").split())
    domain_name = None if host in shared_hosts else host
    joined = record.get("tags", "")
    yield SourceLink(
        id=record.get("id") or fields.link_id(domain_name, path),
        row=number,
        domain_name=domain_name,
        path=path,
        aliases=tuple(other for where, other in others if where == host and other != path),
        destination_url=fields.destination("destination_url", record.get("destination_url")),
        internal_name=fields.line(record.get("internal_name")),
        tags=fields.tags(joined.split("|" if "|" in joined else ",")),
        active=fields.is_true(record.get("active") or "yes"),
        archived=fields.is_true(record.get("archived")),
        created_at=fields.moment("created_at", record.get("created_at")),
        starts_at=fields.moment("starts_at", record.get("starts_at")),
        expires_at=fields.moment("expires_at", record.get("expires_at")),
        expired_url=fields.optional_url("expired_url", record.get("expired_url")),
        pass_query=pass_query,
        max_clicks=fields.count("max_clicks", record.get("max_clicks")),
        notes=fields.text(record.get("notes")),
        external_id=fields.line(record.get("external_id")),
        password=fields.password(record.get("password")),
        clicks=fields.count("clicks", record.get("clicks")),
    )


def csv_format(
    name: str,
    *required: str,
    is_guarded: bool = False,
    shared_hosts: Sequence[str] = (),
    pass_query: bool = True,
) -> FileFormat:
    """Return a format of CSV of links, which has the `required` fields by its headings."""
    make = partial(csv_link, shared_hosts=shared_hosts, pass_query=pass_query)

    def read(pieces: Pieces, columns: Columns | None = None) -> Items:
        rows = CsvRows(make, columns=columns, is_guarded=is_guarded)
        return fields.items_of(csv_batches(pieces), rows)

    def fits(head: bytes) -> bool:
        rows = first_rows(head)
        return bool(rows) and set(required) <= set(columns_of(rows[0]))

    return FileFormat(name, fits, read, ColumnMapping(_preview, read))


async def _preview(pieces: Pieces) -> Preview:
    head = b""
    async for piece in pieces:
        head += piece
        if len(head) >= HEAD_BYTES:
            break
    first, *others = first_rows(head) or [[]]
    headed = has_headings(first)
    rows = others if headed else [first, *others]
    return Preview(first if headed else (), columns_of(first), rows[:PREVIEWED])
