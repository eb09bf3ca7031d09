"""Exports: all rows of a list as a file, in place of one page as JSON.

A row of the endpoint table declares an export; `api/protected` chooses the form of an answer here,
and `api/export_stream` sends it.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.errors import BadRequest
from tracker.syntax.accept import prefers

FormName = Literal["csv", "ndjson"]

MEDIA_TYPES: Final[dict[FormName, str]] = {"csv": "text/csv", "ndjson": "application/x-ndjson"}
"""The media types of exports, by the names of their forms."""

_JSON: Final = "application/json"
_PAGING: Final = ("page", "pageSize", "cursor", "since")

FormatIn = (
    Annotated[
        Literal["json", "csv", "ndjson"],
        Meta(
            description="csv, ndjson: all rows, as a file; `Accept` does the same. They take no "
            "page or cursor"
        ),
    ]
    | UnsetType
)
"""The type of the field `format`, which the query or body of every endpoint with an export has."""


class Export(NamedTuple):
    """The rows of an endpoint that can be had as a file.

    - `name` begins the name of the file.
    - `record` is the type of the rows. Its fields are the columns, those of a struct in it too.
    - `rows` yields all rows of a Call in pieces, which may be empty. A piece is fetched when the
      one before is sent, so it bounds the memory. An error before the first piece is answered.
    - `columns` returns the columns to show, if they are not all of `record`.
    - `without` are fields of the request that an export does not take.
    """

    name: str
    record: type[msgspec.Struct]
    rows: Callable[[Any], AsyncGenerator[Sequence[msgspec.Struct], None]]
    columns: Callable[[Any], Sequence[str]] | None = None
    without: tuple[str, ...] = _PAGING


def requested_form(given: object, accept: str) -> FormName | None:
    """Return the form of export that a request asks for; None for JSON.

    `given` is the value of the field `format`, UNSET if it was not sent: then the Accept header
    decides.
    """
    if given is not UNSET:
        return next((form for form in MEDIA_TYPES if form == given), None)
    preferred = [form for form in MEDIA_TYPES if prefers(accept, MEDIA_TYPES[form], _JSON)]
    if len(preferred) > 1 and prefers(accept, MEDIA_TYPES["ndjson"], MEDIA_TYPES["csv"]):
        return "ndjson"
    return preferred[0] if preferred else None


def check_taken(export: Export, form: FormName, sent: Collection[str]) -> None:
    """Check the fields of a request. Raises BadRequest if one is not for exports."""
    for name in export.without:
        if name in sent:
            raise BadRequest(f"{name}: not with {MEDIA_TYPES[form]}, which is all rows")
