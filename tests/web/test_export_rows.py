"""The rows of exports as text: columns, and the values that are no text."""

from decimal import Decimal
from uuid import UUID

import msgspec
from msgspec import UNSET

from tracker.reports.api.figures import ReportChange, ReportMeasures, ReportRow
from tracker.web.export_rows import NDJSON, columns_of, csv_encoder
from tracker.web.schema import Pagination


class Inner(msgspec.Struct, kw_only=True):
    """A part of a row."""

    id: UUID
    name: str


class Outer(msgspec.Struct, kw_only=True):
    """A row."""

    text: str
    inner: Inner | None
    many: list[Inner]
    other: Pagination | None = None


ID = UUID("0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a1c")


def test_columns_are_fields_by_their_names_in_json() -> None:
    assert [column.name for column in columns_of(Outer)] == [
        "text",
        "inner.id",
        "inner.name",
        "many",
        "other.page",
        "other.pageSize",
        "other.totalRows",
        "other.totalPages",
        "other.totalIsExact",
    ]


def test_a_list_is_json_and_what_is_missing_is_empty() -> None:
    encoder = csv_encoder(Outer, ["text", "inner.id", "inner.name", "many"])
    whole = Outer(text="a", inner=Inner(id=ID, name="+b"), many=[Inner(id=ID, name="c")])
    lines = Outer(text='=1+1,\r\n"two"', inner=None, many=[])
    empty = Outer(text="", inner=None, many=[])
    assert encoder.head == b"text,inner.id,inner.name,many\r\n"
    assert encoder.encode([lines]) == b'"\'=1+1,\r\n""two""",,,[]\r\n'
    assert encoder.encode([whole, empty]).decode().splitlines() == [
        f"a,{ID},'+b," + f'"[{{""id"":""{ID}"",""name"":""c""}}]"',
        ",,,[]",
    ]


def test_numbers_below_zero_stay_numbers() -> None:
    row = ReportRow(
        key="-5",
        name="-5",
        clicks=-5,
        value=Decimal("-0.10"),
        previous=ReportMeasures(clicks=2),
        change=ReportChange(clicks=-0.5, value=None),
    )
    names = ["key", "clicks", "value", "payout", "previous.clicks", "change.clicks", "change.value"]
    assert row.payout is UNSET
    assert csv_encoder(ReportRow, names).encode([row]) == b"-5,-5,-0.10,,2,-0.5,\r\n"


def test_numbers_have_no_exponent() -> None:
    row = ReportRow(key="x", name="x", clicks=10**20, value=Decimal("0.000000001"))
    encoded = csv_encoder(ReportRow, ["clicks", "value"]).encode([row])
    assert encoded == b"100000000000000000000,0.000000001\r\n"


def test_rows_of_ndjson_are_as_in_json() -> None:
    row = ReportRow(key="=1", name="x", clicks=1, value=Decimal("1.50"))
    expected = b'{"key":"=1","name":"x","clicks":1,"value":1.50}\n'
    assert NDJSON.encode([row, row]) == expected * 2
    assert NDJSON.encode([]) == b""
