"""The rows of an export as text: CSV with a header, or NDJSON."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, Final, NamedTuple, Protocol, cast
from uuid import UUID

import msgspec
from msgspec import UnsetType
from msgspec.inspect import StructType, UnionType, type_info

from tracker.syntax.csv_text import csv_field, csv_lines
from tracker.web.export import FileFormat

_JSON: Final = msgspec.json.Encoder(decimal_format="number")

_TEXTS: Final[Mapping[type, Callable[[Any], str]]] = {
    str: csv_field,
    # Numbers stay numbers: a spreadsheet runs no -5 that is measured.
    int: str,
    float: repr,
    Decimal: "{:f}".format,  # not 1E-9
    UUID: str,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "",
    UnsetType: lambda value: "",
}


class CsvColumn(NamedTuple):
    """A column of CSV: its name, and the attributes that lead to its value."""

    name: str
    path: tuple[str, ...]


class RowEncoder(Protocol):
    """An encoder of rows. `head` comes before all of them."""

    head: bytes

    def encode(self, rows: Sequence[msgspec.Struct]) -> bytes: ...


class CsvEncoder:
    """An encoder of records of one type as CSV, with these columns, or all."""

    def __init__(self, record: type[msgspec.Struct], names: Sequence[str] | None) -> None:
        known = columns_of(record)
        if names is not None:
            by_name = {column.name: column for column in known}
            known = tuple(by_name[name] for name in names)
        self._paths = [column.path for column in known]
        self.head = csv_lines([[column.name for column in known]])

    def encode(self, rows: Sequence[msgspec.Struct]) -> bytes:
        return csv_lines([_text(_value(row, path)) for path in self._paths] for row in rows)


class NdjsonEncoder:
    """An encoder of records as lines of JSON."""

    head = b""

    def encode(self, rows: Sequence[msgspec.Struct]) -> bytes:
        return _JSON.encode_lines(rows)


def encoder_of(
    file_format: FileFormat, record: type[msgspec.Struct], names: Sequence[str] | None
) -> RowEncoder:
    return CsvEncoder(record, names) if file_format == "csv" else NdjsonEncoder()


@cache
def columns_of(record: type[msgspec.Struct]) -> tuple[CsvColumn, ...]:
    """Return the columns of a record: its fields, and the fields of structs in it."""
    return tuple(_columns(cast("StructType", type_info(record))))


def _columns(struct: StructType) -> list[CsvColumn]:
    columns = []
    for field in struct.fields:
        inner = _struct_in(field.type)
        of_inner = _columns(inner) if inner is not None else [CsvColumn("", ())]
        columns += [
            CsvColumn(f"{field.encode_name}.{name}".rstrip("."), (field.name, *path))
            for name, path in of_inner
        ]
    return columns


def _struct_in(kind: Any) -> StructType | None:
    """Return the struct type itself, or the one in a union; None without one."""
    kind = getattr(kind, "type", kind)
    kinds = kind.types if isinstance(kind, UnionType) else [kind]
    return next((one for one in kinds if isinstance(one, StructType)), None)


def _value(record: Any, path: Sequence[str]) -> Any:
    for name in path:
        if record is None or isinstance(record, UnsetType):
            return None
        record = getattr(record, name)
    return record


def _text(value: Any) -> str:
    """Return a value as a field: a nested one as JSON, none as an empty field."""
    text = _TEXTS.get(type(value))
    if text is not None:
        return text(value)
    return csv_field(value if isinstance(value, str) else _JSON.encode(value).decode())
