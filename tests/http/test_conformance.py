"""Each raw request of the table has its exact outcome, however it is cut on the way."""

import pytest

from tests.http.conformance import ROWS
from tests.http.exchange_record import outcome_of_parts
from tests.http.row import Row

NAMES = [row.name for row in ROWS]
EVERY_SPLIT_UP_TO = 250
"""Bytes of a request; longer ones are split at some places only."""


def test_names_in_the_table_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 150


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
async def test_a_request_has_its_outcome_however_it_is_cut(row: Row) -> None:
    raw = row.raw
    step = 1 + len(raw) // EVERY_SPLIT_UP_TO
    in_two = [[raw[:at], raw[at:]] for at in range(1, len(raw), step)]
    byte_by_byte = [raw[at : at + 1] for at in range(len(raw))]
    for parts in ([raw], byte_by_byte, *in_two):
        assert await outcome_of_parts(parts) == row.outcome, parts
