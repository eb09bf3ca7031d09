"""Kutt: its API, and SQL dumps of SQLite, PostgreSQL and MySQL or MariaDB."""

import re
from collections.abc import Iterable
from datetime import UTC, tzinfo
from typing import Final

from tracker.errors import BadRequest
from tracker.imports.item import Loss, SourceItem
from tracker.imports.readers import fields
from tracker.imports.readers.fields import Record
from tracker.imports.readers.json_records import api_reader, offset
from tracker.imports.readers.sql_dump import SqlRow, sql_format
from tracker.imports.source import Source

_NO_ZONE: Final = re.compile(r"\d+-\d+-\d+ [\d:.]+")
_PAGE: Final = 50
_TABLES: Final = {
    "domains": "id address",
    "links": "id address domain_id target visit_count uuid",
}
_MAX_DOMAINS: Final = 10_000
_LOCAL: Final = (Loss("expire_in", "Kutt on MySQL writes the server's local time: read as UTC"),)


class _Dump:
    """Makes links of the rows of a dump, in which domains come first."""

    def __init__(self) -> None:
        self._domains: dict[str | None, str | None] = {None: None}

    def __call__(self, number: int, row: SqlRow) -> Iterable[SourceItem]:
        record = row.values
        if row.table == "domains":
            if len(self._domains) > _MAX_DOMAINS:
                raise BadRequest(f"domains: more than {_MAX_DOMAINS}")
            self._domains[record["id"]] = record["address"]
            return ()
        if record["domain_id"] not in self._domains:
            raise BadRequest("domain_id: no domain of that id stands before it")
        is_local, domain_name = row.is_mysql, self._domains[record["domain_id"]]
        return _link(number, record, domain_name, row.zone, is_local)


def _link(
    number: int,
    record: Record,
    domain_name: str | None,
    zone: tzinfo = UTC,
    is_local: bool = True,
) -> Iterable[SourceItem]:
    names = "destination_url:target notes:description expires_at:expire_in password"
    yield fields.link(
        number,
        record,
        f"{names} clicks:visit_count",
        id=str(record.get("uuid") or record["id"]),
        domain_name=domain_name,
        path=record["address"],
        active=not fields.is_true(record.get("banned")),
        created_at=fields.moment("created_at", record.get("created_at"), zone),
        pass_query=False,
        losses=_LOCAL if is_local and _NO_ZONE.fullmatch(record.get("expire_in") or "") else (),
    )


KUTT: Final = Source(
    name="kutt",
    label="Kutt",
    files=(sql_format(_TABLES, _Dump),),
    key_headers=lambda key: {"X-API-Key": key},
    read_api=api_reader(
        lambda number, record: _link(number, record, record["domain"]),
        "api/v2/links",
        {"limit": _PAGE, "skip": 0},
        "data",
        offset("skip", _PAGE),
    ),
)
