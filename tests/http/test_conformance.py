"""Each raw request of the table has its exact outcome, however it is cut on the way."""

import asyncio

import pytest
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from tests.http.conformance import ROWS
from tests.http.exchange_record import (
    LIMITS,
    Outcome,
    outcome_at,
    outcome_of_parts,
    recording_application,
    render,
)
from tests.http.row import Row
from tests.waiting import PATIENCE_SECONDS
from tracker.http.server import Server

NAMES = [row.name for row in ROWS]
EVERY_SPLIT_UP_TO = 250
"""Bytes of a request; longer ones are split at some places only."""


def test_names_in_the_table_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 150


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
async def test_a_request_has_its_outcome(row: Row) -> None:
    assert await outcome_of_parts([row.raw]) == row.outcome


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
async def test_a_request_cut_in_two_has_the_same_outcome(row: Row) -> None:
    step = 1 + len(row.raw) // EVERY_SPLIT_UP_TO
    for at in range(1, len(row.raw), step):
        assert await outcome_of_parts([row.raw[:at], row.raw[at:]]) == row.outcome, at


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
async def test_a_request_that_arrives_byte_by_byte_has_the_same_outcome(row: Row) -> None:
    parts = [row.raw[at : at + 1] for at in range(len(row.raw))]
    assert await outcome_of_parts(parts) == row.outcome


async def _through_a_socket(row: Row) -> Outcome:
    application, seen = recording_application()
    sockets = bind_sockets(0, "127.0.0.1")
    server = Server(application, render, LIMITS)
    await server.listen(sockets)
    outcome = await outcome_at(sockets[0].getsockname()[1], row.raw, seen, row.outcome)
    server.stop()
    await server.finish(0, 0)
    return outcome


async def _through_tornado(row: Row) -> Outcome:
    application, seen = recording_application()
    sockets = bind_sockets(0, "127.0.0.1")
    server = HTTPServer(
        application, max_header_size=LIMITS.head_bytes, max_body_size=LIMITS.body_bytes
    )
    server.add_sockets(sockets)
    # What is unlike is not waited for: whatever comes in time differs, and that is expected.
    seconds = 1.5 if row.unlike else PATIENCE_SECONDS
    outcome = await outcome_at(sockets[0].getsockname()[1], row.raw, seen, row.outcome, seconds)
    server.stop()
    await server.close_all_connections()
    return outcome


async def test_the_outcomes_are_the_same_through_a_socket() -> None:
    outcomes = await asyncio.gather(*(_through_a_socket(row) for row in ROWS))
    for row, outcome in zip(ROWS, outcomes, strict=True):
        assert outcome == row.outcome, row.name


async def test_tornado_agrees_except_for_the_listed_differences() -> None:
    outcomes = await asyncio.gather(*(_through_tornado(row) for row in ROWS))
    unlike = {
        row.name: outcome
        for row, outcome in zip(ROWS, outcomes, strict=True)
        if outcome != row.outcome
    }
    listed = {row.name for row in ROWS if row.unlike}
    assert unlike.keys() == listed, {name: unlike.get(name) for name in unlike.keys() ^ listed}
