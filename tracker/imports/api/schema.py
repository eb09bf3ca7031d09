"""The requests and answers of `/api/imports`."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.imports.rows import Listed, Outcome
from tracker.imports.store import MAX_COLUMNS, MAX_DOMAINS, Column, DomainChoice, State
from tracker.web.export import FormatIn
from tracker.web.schema import AccountId, Paged, Text, Timestamp

ApiKey = Annotated[str, Meta(min_length=1, max_length=500, pattern="^[!-~]+$")]

Domains = Annotated[
    list[DomainChoice],
    Meta(
        max_length=MAX_DOMAINS,
        description="where links of the source's domains go; not named: to the account's domain "
        "of that name. The name is empty for the source's default domain",
    ),
]
Columns = Annotated[
    list[Column],
    Meta(max_length=MAX_COLUMNS, description="the columns of a CSV; empty: guessed"),
]


class ImportApi(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The API of a source."""

    key: Annotated[ApiKey, Meta(description="used while links are read, and kept nowhere")]
    url: Annotated[str, Meta(description="empty: the address of the hosted service")] = ""


class CreateImport(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The import to create. Without `api` its file is sent next."""

    account_id: AccountId = field(name="accountId")
    source: Text
    instance: Annotated[
        str,
        Meta(
            max_length=255,
            description="tells installations of a source apart; default: the host of the API",
        ),
    ] = ""
    domains: Domains = []
    api: ImportApi | None = None


class CheckImport(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to check the rows against, if it has changed."""

    account_id: AccountId = field(name="accountId")
    domains: Domains | UnsetType = UNSET
    columns: Columns | UnsetType = UNSET


class ImportRecord(msgspec.Struct, kw_only=True):
    """An import."""

    id: UUID
    account_id: UUID
    created_at: Timestamp
    source: str
    source_label: str
    instance: str
    state: State
    format: Annotated[str, Meta(description="the kind of file, as recognized")]
    file_bytes: int
    domains: list[DomainChoice]
    columns: list[Column]
    position: Annotated[int, Meta(description="items that the present step is done with")]
    total: Annotated[int | None, Meta(description="items of the source, once they are checked")]
    counts: Annotated[dict[str, int], Meta(description="rows by outcome, and visits")]
    visits: Annotated[int, Meta(description="visits of the source, once they are checked")]
    visits_done: Annotated[int, Meta(description="visits that were read after all links")]
    domain_names: Annotated[list[str], Meta(description="the source's, once it is checked")]
    error: str | None


class ImportRowRecord(msgspec.Struct, kw_only=True):
    """A row of an import: what becomes of a link of the source."""

    row: Annotated[int, Meta(description="its number in the source")]
    outcome: Outcome
    field: Annotated[str, Meta(description="the field that the reason is about")]
    reason: str
    domain: str
    path: str
    destination_url: str
    internal_name: str
    tags: Annotated[str, Meta(description="joined by |")]
    source_link: Annotated[str, Meta(description="its id there")]
    text: Annotated[str, Meta(description="of a row that is no link: what it has there")]
    link_id: UUID | None
    differ: Annotated[int, Meta(description="paths that answer otherwise than at the source")]
    difference: Annotated[str, Meta(description="of the first of them: there, here, and why")]


class ListRows(Paged, kw_only=True):
    """The page of rows to list."""

    outcome: Annotated[
        Listed, Meta(description="`differing`: rows of which the cut-over check said so")
    ] = "all"
    format: FormatIn = UNSET


class SourceRecord(msgspec.Struct, kw_only=True):
    """A service whose links can be imported."""

    name: str
    label: str
    files: Annotated[list[str], Meta(description="the kinds of files that are read")]
    has_api: bool
    api_address: Annotated[str, Meta(description="empty if each installation has its own")]


class SourceList(msgspec.Struct, kw_only=True):
    """All sources."""

    rows: list[SourceRecord]


class ImportPreview(msgspec.Struct, kw_only=True):
    """The beginning of a CSV."""

    headings: Sequence[str]
    columns: Annotated[list[Column], Meta(description="as guessed from the headings")]
    rows: Sequence[Sequence[str]]
