"""Entries and spool files of earlier releases are read, and written in the same bytes."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from config.settings import Settings
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.journal.entry import EntryDecoder, encode, fields_of, record_count
from tracker.journal.journal import Journal
from tracker.journal.spool import Spool
from tracker.stores.breaker import Breaker
from tracker.stores.redis.clients import redis_for_requests
from tracker.stores.redis.keys import JOURNAL

pytestmark = pytest.mark.redis

CLICK = Click(
    id=bytes(range(16)),
    at=1_767_000_000_123,
    account_id=b"a" * 16,
    link_id=b"l" * 16,
    domain_name="go.example.com",
    address="8.8.8.8",
    user_agent="curl/8.0",
    referrer="https://example.com/",
    purpose="",
    edge_country="DE",
    query="a=1",
    link_utm="utm_source=x",
)
EVENT = Conversion(
    id=7,
    at=1_767_000_000_124,
    account_id=b"a" * 16,
    event_config_id=None,
    click_id=bytes(range(16)),
    value="9.99",
    payout=None,
    metadata='{"b": 2}',
    transaction_id="t-1",
    transaction_scope=b"a" * 16,
    checked=True,
)

# As 1.0.0 wrote them.
CLICK_WITHOUT_COST = (
    b"\x9e\xa1c\xc4\x10\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f"
    b"\xcf\x00\x00\x01\x9bihF{\xc4\x10aaaaaaaaaaaaaaaa\xc4\x10llllllllllllllll"
    b"\xaego.example.com\xa78.8.8.8\xa8curl/8.0\xb4https://example.com/\xa0\xa2DE\xa3a=1\xacutm_source=x\xc2"
)
EVENT_WITHOUT_WARNINGS = (
    b"\x9d\xa1e\x07\xcf\x00\x00\x01\x9bihF|\xc4\x10aaaaaaaaaaaaaaaa\xc0"
    b"\xc4\x10\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f"
    b'\xa49.99\xc0\xa8{"b": 2}\xa3t-1\xc4\x10aaaaaaaaaaaaaaaa\xc3\xc2'
)
EVENT_BYTES = b"\xdc\0\x10" + EVENT_WITHOUT_WARNINGS[1:] + b"\xc0\xc0\xc0"
CLICK_BYTES = b"\xdc\0\x12" + CLICK_WITHOUT_COST[1:] + b"\xc0\xc0\xc0\xc0"
PAYLOAD = b"\x92" + CLICK_BYTES + EVENT_BYTES

KINDS = EntryDecoder(list[Click | Conversion])


def test_an_entry_is_written_and_read_in_the_same_bytes_as_ever() -> None:
    assert fields_of(encode([CLICK, EVENT])) == {b"1": PAYLOAD}
    assert KINDS.decode({b"1": PAYLOAD}) == [CLICK, EVENT]


def test_records_of_a_release_that_knows_fewer_or_more_fields_are_read() -> None:
    for record, known in ((CLICK, CLICK_WITHOUT_COST), (EVENT, EVENT_WITHOUT_WARNINGS)):
        assert KINDS.decode({b"1": b"\x91" + known}) == [record]
    for record, more in (
        (CLICK, b"\xdc\0\x13" + CLICK_BYTES[3:] + b"\xa1x"),
        (EVENT, b"\xdc\0\x11" + EVENT_BYTES[3:] + b"\xa1x"),
    ):
        assert KINDS.decode({b"1": b"\x91" + more}) == [record]


@pytest.mark.parametrize("number", [0, 1, 15, 16, 500])
def test_records_are_counted_without_being_decoded(number: int) -> None:
    assert record_count(fields_of(encode([CLICK] * number))) == number


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"text"])
def test_bytes_that_are_no_entry_hold_no_records(payload: bytes) -> None:
    assert record_count({b"1": payload}) == record_count({b"2": payload}) == 0


async def test_a_spool_file_of_an_earlier_release_is_moved_to_the_stream_as_it_is(
    settings: Settings, tmp_path: Path
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "1.sqlite")) as file, file:
        file.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, payload BLOB NOT NULL)")
        file.execute("INSERT INTO entries (payload) VALUES (?)", (PAYLOAD,))
    async with redis_for_requests(settings.redis_url) as redis:
        journal = Journal(redis, Breaker(), Spool(tmp_path, 1_000_000))
        assert await journal.replay_once() == 1
        await journal.close()
        entries: Any = await redis.xrange(JOURNAL)
    assert [fields for _, fields in entries] == [{b"1": PAYLOAD}]
