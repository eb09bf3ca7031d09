"""Links in CSV. Pure.

Columns follow from their headings, or as the user maps them.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from tracker.errors import BadRequest
from tracker.imports.item import SourceItem
from tracker.imports.readers import fields
from tracker.imports.source import Columns, FileFormat, Items, Pieces, Preview
from tracker.syntax.csv_rows import Headings, csv_batches, first_rows, plain_heading
from tracker.syntax.csv_rows import columns_of as by_headings

PREVIEWED: Final = 20

LINK_HEADINGS: Final[Headings] = {
    "id": "linkid id",
    "source_url": "sourceurl customlink custombitlink shortlink shorturl link bitlink source",
    "aliases": "aliases link bitlink",
    "domain_name": "domain domainname host",
    "path": "shortcode slug keyword path alias backhalf code shortid key address",
    "destination_url": "destinationurl longurl target destination originalurl longlink url",
    "internal_name": "title internalname name label",
    "tags": "tags tag",
    "archived": "archived",
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
_CONVERTED: Final = " ".join(filter(fields.CONVERTERS.get, LINK_HEADINGS))
_GUARD: Final = re.compile(r"^'(?=[\s\"']*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])")


def columns_of(cells: Sequence[str], known: Headings = LINK_HEADINGS) -> Columns:
    """Guess the columns by the first row. Without headings a path follows the destination."""
    urls = [at for at, one in enumerate(cells) if "://" in one]
    if len(urls) > 1:
        return {"source_url": urls[0], "destination_url": urls[1]}
    if urls:
        return {"destination_url": urls[0], "path": urls[0] + 1}
    return by_headings(cells, known)


def _has_headings(cells: Sequence[str]) -> bool:
    return not any("://" in one for one in cells)


class CsvRows:
    """Makes items of rows by `read`. Without `columns` they follow from the first row."""

    def __init__(
        self, read: fields.Read, columns: Columns, known: Headings = LINK_HEADINGS
    ) -> None:
        self._read, self._columns, self._known = read, columns, known
        self._is_first = True

    def __call__(self, number: int, cells: Sequence[str]) -> Iterable[SourceItem]:
        if not any(cells):
            return ()
        if self._is_first:
            self._is_first = False
            self._columns = self._columns or columns_of(cells, self._known)
            if _has_headings(cells):
                return _repeated(number, cells)
        record = {name: cells[at].strip() for name, at in self._columns.items() if at < len(cells)}
        return fields.items_of_row(self._read, number, record)


def _repeated(number: int, headings: Sequence[str]) -> Iterable[SourceItem]:
    seen = {""}
    for heading in headings:
        if heading and plain_heading(heading) in seen:
            yield fields.refused(number, f"{heading}: is there twice; the first is read")
        seen.add(plain_heading(heading))


def csv_link(
    number: int,
    record: fields.Record,
    *,
    hosts: Sequence[str] = (),
    is_guarded: bool = False,
    replaces_query: bool = False,
    **known: Any,
) -> Iterable[SourceItem]:
    """Make a link. Links at `hosts`, which everybody shares, come to the default domain.

    A source with `is_guarded` writes an apostrophe before texts that begin like a formula. Raises
    BadRequest if a field breaks a rule.
    """
    if is_guarded:
        record = {name: _GUARD.sub("", text) for name, text in record.items()}
    printed = record.get("source_url") or record.get("aliases")
    host, path = fields.short_url(printed or "")
    path = record.get("path", "").strip("/") or path
    if not (path or printed):
        raise BadRequest("path: a path or a short URL is required")
    host = record.get("domain_name", "").lower() or host
    domain_name = None if host in hosts else host
    others = map(fields.short_url, record.get("aliases", "").split())
    yield fields.link(
        number,
        record,
        _CONVERTED,
        id=record.get("id") or fields.link_id(domain_name, path),
        domain_name=domain_name,
        path=path,
        aliases=tuple(other for where, other in others if where == host and other != path),
        losses=fields.query_loss(record.get("destination_url", "") if replaces_query else ""),
        **known,
    )


def csv_format(name: str, *required: str, **options: Any) -> FileFormat:
    """Return a format of CSV of links, which has the `required` fields. See `csv_link`."""

    def read(pieces: Pieces, columns: Columns) -> Items:
        return fields.items_of(csv_batches(pieces), CsvRows(partial(csv_link, **options), columns))

    def fits(head: bytes) -> bool:
        rows = first_rows(head)
        if not rows or any("\0" in cell for cell in rows[0]):
            return False
        return set(required) <= set(columns_of(rows[0]))

    return FileFormat(name, fits, read, _preview)


def _preview(head: bytes) -> Preview:
    first, *others = first_rows(head) or [[]]
    if _has_headings(first):
        return Preview(first, columns_of(first), others[:PREVIEWED])
    return Preview((), columns_of(first), [first, *others][:PREVIEWED])
