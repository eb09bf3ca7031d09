"""Any CSV of links, with columns that the user may choose."""

from typing import Final

from tracker.imports.readers.mapped_csv import csv_format
from tracker.imports.source import Source

CSV: Final = Source(
    name="csv",
    label="CSV",
    files=(csv_format("CSV"),),
    key_headers=lambda _: {},
    read_api=None,
)
