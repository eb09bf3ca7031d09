"""Exports: all rows of a list as a file, in place of one page as JSON.

A row of the endpoint table declares an export, and `web/export_stream` sends it. The rows from
`Endpoint.as_file` have no other answer: a generated client knows one type for each operation.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.errors import BadRequest
from tracker.syntax.accept import prefers
from tracker.web.export_rows import CsvColumn

FileFormat = Literal["csv", "ndjson"]

MEDIA_TYPES: Final[dict[FileFormat, str]] = {"csv": "text/csv", "ndjson": "application/x-ndjson"}
"""The media types of exports, by format."""

INTERNAL: Final = "x-internal"
"""The key of JSON Schemas that the OpenAPI document leaves out."""

UNDESCRIBED: Final = Meta(extra_json_schema={INTERNAL: True})

_JSON: Final = "application/json"
PAGING: Final = ("page", "pageSize", "cursor", "since")
"""The fields of lists that are not described for files, which have all rows."""

FormatIn = Annotated[Literal["json", "csv", "ndjson"], UNDESCRIBED] | UnsetType
"""The field `format` of every list with an export.

OpenAPI describes it in words alone, so that the list has one type of answer: its page.
"""

FILE_FORMAT_TEXT: Final = "csv if not given; `Accept` may choose ndjson too"
FileFormatIn = Annotated[FileFormat, Meta(description=FILE_FORMAT_TEXT)] | UnsetType
"""The field `format` of endpoints that answer with a file alone."""


class Export(NamedTuple):
    """The rows of an endpoint that can be downloaded as a file.

    - `name` begins the name of the file. `summary` is for the endpoint with the file alone.
    - `record` is the type of the rows. Its fields are the columns, with the fields of structs in
      it.
    - `rows` yields all rows of a Call in pieces, maybe empty. A piece is fetched once the one
      before is sent, which bounds the memory. An error before the first piece is answered.
    - `columns` returns the columns to show, if not all of `record`.
    - `account_columns` returns further ones, which differ between accounts.
    - `without` are fields of the request that an export does not take, besides `page`.
    - `body` is for the endpoint with the file alone, if it is another.
    """

    name: str
    summary: str
    record: type[msgspec.Struct]
    rows: Callable[[Any], AsyncGenerator[Sequence[msgspec.Struct], None]]
    columns: Callable[[Any], Sequence[str]] | None = None
    account_columns: Callable[[Any], Awaitable[Sequence[CsvColumn]]] | None = None
    without: tuple[str, ...] = ("cursor", "since")
    body: type[msgspec.Struct] | None = None


def requested_format(given: object, accept: str) -> FileFormat | None:
    """Return the requested format of the export; None for JSON.

    `given` is the field `format`. If it is UNSET, the Accept header decides.
    """
    if given is not UNSET:
        return next((one for one in MEDIA_TYPES if one == given), None)
    preferred = [one for one in MEDIA_TYPES if prefers(accept, MEDIA_TYPES[one], _JSON)]
    if len(preferred) > 1 and prefers(accept, MEDIA_TYPES["ndjson"], MEDIA_TYPES["csv"]):
        return "ndjson"
    return preferred[0] if preferred else None


def check_export_request(
    export: Export, file_format: FileFormat, request: msgspec.Struct, sent: Collection[str]
) -> None:
    """Check the fields of a request. Raises BadRequest if one is not for exports.

    The first page of any size is accepted, because generated clients send every default.
    """
    if getattr(request, "page", 1) > 1:
        raise BadRequest(f"page: only 1 with {MEDIA_TYPES[file_format]}, which has all rows")
    for name in export.without:
        if name in sent:
            raise BadRequest(f"{name}: not with {MEDIA_TYPES[file_format]}, which has all rows")
