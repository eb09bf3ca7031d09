"""The rows of an export as text: CSV with a header, or NDJSON.

CSV is made by columns, whose values are mostly of one type: a row of links takes a third of the
time that it takes value by value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.inspect import DictType, StructType, type_info

from tracker.syntax.csv_text import csv_fields, csv_lines
from tracker.web.parameters import union_types

_JSON: Final = msgspec.json.Encoder(decimal_format="number")

_Texts = Callable[[list[Any]], list[str]]
"""Returns the texts of values of one type."""


def _each(text: Callable[[Any], str]) -> _Texts:
    return lambda values: list(map(text, values))


def _texts_in_json(values: list[Any]) -> list[str]:
    return csv_fields(_JSON.encode_lines(values).decode().split("\n")[:-1])


_TEXTS: Final[Mapping[type, _Texts]] = {
    str: csv_fields,
    # Numbers stay numbers: a spreadsheet runs no -5 that is measured.
    int: _each(str),
    float: _each(repr),
    Decimal: _each("{:f}".format),  # not 1E-9
    UUID: msgspec.to_builtins,  # a quarter of the time of `str`
    bool: _each({True: "true", False: "false"}.__getitem__),
    **dict.fromkeys((type(None), UnsetType), _each(lambda _: "")),
}


class CsvColumn(NamedTuple):
    """A column of CSV: its name, and the attributes or keys that lead to its value."""

    name: str
    path: tuple[str, ...]


class RowEncoder(NamedTuple):
    """An encoder of rows. `head` comes before all of them."""

    head: bytes
    encode: Callable[[Sequence[msgspec.Struct]], bytes]


NDJSON: Final = RowEncoder(b"", _JSON.encode_lines)


def csv_encoder(
    record: type[msgspec.Struct], names: Sequence[str] | None, further: Iterable[CsvColumn] = ()
) -> RowEncoder:
    """Return an encoder of records of one type as CSV, with these columns, or all, and `further`.

    Only `further` can have the values of a mapping.
    """
    columns = columns_of(record)
    if names is not None:
        by_name = {column.name: column for column in columns}
        columns = tuple(by_name[name] for name in names)
    columns = (*columns, *further)

    def encode(rows: Sequence[msgspec.Struct]) -> bytes:
        return csv_lines([_texts(_values(rows, column.path)) for column in columns])

    return RowEncoder(csv_lines([[column.name] for column in columns]), encode)


@cache
def columns_of(record: type[msgspec.Struct]) -> tuple[CsvColumn, ...]:
    """Return the columns of a record: its fields, and those of structs in it, without mappings."""
    return tuple(_columns(cast("StructType", type_info(record))))


def _columns(struct: StructType) -> list[CsvColumn]:
    columns = []
    for field in struct.fields:
        if any(isinstance(one, DictType) for one in union_types(field.type)):
            continue
        inner = _struct_in(field.type)
        of_inner = _columns(inner) if inner is not None else [CsvColumn("", ())]
        columns += [
            CsvColumn(f"{field.encode_name}.{name}".rstrip("."), (field.name, *path))
            for name, path in of_inner
        ]
    return columns


def _struct_in(kind: Any) -> StructType | None:
    """Return the struct type itself, or the one in a union; None without one."""
    return next((one for one in union_types(kind) if isinstance(one, StructType)), None)


def _values(records: Sequence[Any], path: Sequence[str]) -> list[Any]:
    first, *inner = path
    records = list(map(attrgetter(first), records))
    for name in inner:
        records = [None if one is None or one is UNSET else _part(one, name) for one in records]
    return records


def _part(of: Any, name: str) -> Any:
    return of.get(name) if isinstance(of, dict) else getattr(of, name)


def _texts(values: list[Any]) -> list[str]:
    """Return values as fields: nested ones as JSON, missing ones empty."""
    kinds = set(map(type, values))
    if len(kinds) == 1:
        return _texts_of(kinds.pop())(values)
    texts = {kind: iter(_texts_of(kind)([v for v in values if type(v) is kind])) for kind in kinds}
    return [next(texts[type(one)]) for one in values]


def _texts_of(kind: type) -> _Texts:
    return _TEXTS.get(kind) or (csv_fields if issubclass(kind, str) else _texts_in_json)
