"""The forms of files of conversions, and the rows in them. Pure.

CSV has headings, NDJSON an object on each line. Other trackers write lines without headings.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from tracker.conversions.postbacks.fields import FormValue
from tracker.errors import BadRequest
from tracker.syntax.csv_rows import Headings, columns_of, csv_batches, first_rows
from tracker.syntax.strict_json import parse_json
from tracker.syntax.text_pieces import batches

FormName = Literal["csv", "ndjson", "keitaro", "binom", "voluum", "clickflare"]

HEADINGS: Final[Headings] = {
    "click_id": "clickid subid clickref externalclickid cid clid externalcid",
    "transaction_id": "transactionid txid tid orderid conversionid externalid transid",
    "value": "value payout amount revenue saleamount",
    "status": "status conversionstatus convstatus state",
    "type": "type conversiontype event goal",
    "currency": "currency currencycode",
    "occurred_at": "occurredat timestamp unixtimestamp date datetime time conversiontime createdat",
    "pbk": "pbk postbackkey",
}
"""The fields of a row, and their headings."""

PREVIEWED: Final = 20
MAX_SHOWN_CHARACTERS: Final = 500
_NO_PAYOUT: Final = "auto"


class Form(NamedTuple):
    """A form of lines: the fields in their order, and what is between them."""

    columns: Sequence[str] = ()
    delimiter: str = ""


FORMS: Final[Mapping[FormName, Form]] = {
    "csv": Form(),
    "ndjson": Form(),
    "keitaro": Form(("click_id", "value", "transaction_id", "status"), ","),
    "binom": Form(("click_id", "value", "status"), ":"),
    "voluum": Form(("click_id", "value", "type", "transaction_id")),
    "clickflare": Form(("click_id", "value", "transaction_id", "type", "occurred_at"), ","),
}


class Row(NamedTuple):
    """A row, the number of its line, and its text. `error` is why it cannot be read."""

    line: int
    fields: Mapping[str, Any]
    text: str
    error: str = ""


class UploadPreview(msgspec.Struct, kw_only=True):
    """The first rows of a file, and the field of each column, as given or guessed: "" for none."""

    headings: list[str]
    columns: list[str]
    rows: list[list[str]]


def check_columns(form: FormName, columns: Sequence[str]) -> None:
    """Raises BadRequest unless each column is a field, used once, or empty."""
    used = [one for one in columns if one]
    if used and form == "ndjson":
        raise BadRequest("columns: not with ndjson, whose objects name their fields")
    if len(set(used)) < len(used) or not set(used) <= HEADINGS.keys():
        raise BadRequest(f"columns: must be of {', '.join(HEADINGS)}, each once, or empty")


async def read_rows(
    form: FormName, columns: Sequence[str], pieces: AsyncIterator[bytes]
) -> AsyncIterator[Row]:
    """Yield the rows that are not blank. Raises BadRequest if the file is broken."""
    if form == "ndjson":
        async for lines in batches(pieces, _Lines()):
            for number, text in lines:
                if text.strip():
                    yield _of_json(number, text)
        return
    has_headings, columns, line = form == "csv", columns or FORMS[form].columns, 0
    async for rows in csv_batches(pieces, FORMS[form].delimiter):
        for cells in rows:
            line += 1
            if not any(cells):
                continue
            if has_headings:
                has_headings, columns = False, columns or _by_headings(cells)
                continue
            yield _of_cells(line, form, columns, cells)


def preview(form: FormName, columns: Sequence[str], head: bytes) -> UploadPreview:
    """Return the beginning of a file with columns, whose first 64 KiB are given."""
    rows = first_rows(head, FORMS[form].delimiter)
    headings = rows.pop(0) if form == "csv" and rows else []
    found = columns or FORMS[form].columns or _by_headings(headings)
    return UploadPreview(headings=headings, columns=list(found), rows=rows[:PREVIEWED])


def _by_headings(headings: Sequence[str]) -> Sequence[str]:
    found = {at: field for field, at in columns_of(headings, HEADINGS).items()}
    return [found.get(at, "") for at in range(len(headings))]


def _of_cells(line: int, form: FormName, columns: Sequence[str], cells: Sequence[str]) -> Row:
    text = (FORMS[form].delimiter or ",").join(cells)[:MAX_SHOWN_CHARACTERS]
    named = {name: cell.strip() for name, cell in zip(columns, cells, strict=False) if name}
    fields = {name: FormValue(cell) for name, cell in named.items() if cell}
    if form == "binom":
        _read_binom(fields, [one.strip() for one in cells[2:]])
    return Row(line, fields, text)


def _read_binom(fields: dict[str, Any], rest: Sequence[str]) -> None:
    """Read `[status][:event_1=v[:event_2=v]]`, and `auto`, which is no payout."""
    if fields.get("value") == _NO_PAYOUT:
        del fields["value"]
    if rest and "=" in rest[0]:
        fields.pop("status", None)
    events = dict(one.partition("=")[::2] for one in rest if "=" in one)
    if events:
        fields["metadata"] = events


class _Lines:
    """Takes lines, with their numbers."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, text: str, at: int, _: bool) -> tuple[int, list[tuple[int, str]]] | None:
        end = text.find("\n", at)
        if end < 0:
            return None
        self._number += 1
        return end + 1, [(self._number, text[at:end])]


def _of_json(line: int, text: str) -> Row:
    shown = text[:MAX_SHOWN_CHARACTERS]
    try:
        record = parse_json("row", text.encode())
    except BadRequest as error:
        return Row(line, {}, shown, error.message)
    if not isinstance(record, dict):
        return Row(line, {}, shown, "row: must be a JSON object")
    names = list(record)
    found = {field: record[names[at]] for field, at in columns_of(names, HEADINGS).items()}
    if "metadata" in record:
        found["metadata"] = record["metadata"]
    return Row(line, {name: one for name, one in found.items() if one not in ("", None)}, shown)
