"""Errors of the drain: outages and faults of a record. A reason quotes no document."""

from typing import Any
from uuid import UUID

import msgspec
import pytest
from bson.errors import InvalidDocument
from pymongo.errors import (
    AutoReconnect,
    DocumentTooLarge,
    DuplicateKeyError,
    OperationFailure,
    PyMongoError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from tracker.clicks.click import Click
from tracker.conversions.document import EventIdTaken
from tracker.ingest.faults import is_fault_of_record, is_retryable, is_too_large, reason_of
from tracker.ingest.planning.write_set import WriteConflict
from tracker.service.services import Services
from tracker.stores.mongodb.documents import run_inserts

UNAVAILABLE = [
    AutoReconnect("gone"),
    PyMongoError("any"),
    OperationFailure("no code"),
    OperationFailure("write conflict", 112),
    OperationFailure("not authorized", 13),
    DuplicateKeyError("duplicate", 11000),
    RedisConnectionError("gone"),
    ResponseError("OOM command not allowed"),
    WriteConflict(),
]
OF_RECORD = [
    OperationFailure("bad value", 2),
    OperationFailure("validation", 121),
    OperationFailure("too large", 10334),
    OperationFailure("too large", 17419),
    ValueError("bytes is not a 16-char string"),
    msgspec.ValidationError("Expected `int`"),
    InvalidDocument("cannot encode"),
    DocumentTooLarge("too large"),
    EventIdTaken("event id 7 belongs to another event"),
]
UNKNOWN = [
    TypeError("ours"),
    KeyError("ours"),
    OperationFailure("failed to parse", 9),
    OperationFailure("type mismatch", 14),
    OperationFailure("cannot create field", 28),
    OperationFailure("conflict", 40),
]


@pytest.mark.parametrize(
    ("error", "waits", "of_record"),
    [
        *((error, True, False) for error in UNAVAILABLE),
        *((error, False, True) for error in OF_RECORD),
        *((error, False, False) for error in UNKNOWN),
    ],
    ids=repr,
)
def test_an_error_is_an_outage_or_a_records_fault_or_unknown(
    error: Exception, waits: bool, of_record: bool
) -> None:
    assert (is_retryable(error), is_fault_of_record(error)) == (waits, of_record)


@pytest.mark.parametrize(
    ("error", "too_much"),
    [
        (OperationFailure("too large for the cache", 388), True),
        (DocumentTooLarge("'insert' command document too large"), True),
        (OperationFailure("write conflict", 112), False),
        (OperationFailure("too large", 10334), False),
        (AutoReconnect("gone"), False),
    ],
    ids=repr,
)
def test_a_transaction_that_is_too_large_is_recognized(error: Exception, too_much: bool) -> None:
    assert is_too_large(error) == too_much


SECRET = "what the visitor typed"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OperationFailure(f"E11000 dup key: {SECRET}", 11000), "OperationFailure: code 11000"),
        (DuplicateKeyError(SECRET, 11000, {"keyValue": SECRET}), "DuplicateKeyError: code 11000"),
        (ValueError("badly formed"), "ValueError: badly formed"),
        (ValueError("x" * 9999), "ValueError: " + "x" * 488),
    ],
    ids=["failure", "duplicate", "value", "long"],
)
def test_a_reason_names_kind_and_code(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason


@pytest.mark.parametrize(
    "broken",
    [
        {"x": object()},
        {"x": 2**80},
        {"x": "\ud800"},
        {"a\0b": 1},
        {"_id": ["an array"]},
        {"_id": 1, "x": "x" * (17 * 1024 * 1024)},
    ],
    ids=["object", "integer", "surrogate", "null", "array", "size"],
)
async def test_a_reason_of_a_real_refusal_quotes_nothing_of_the_document(
    services: Services, broken: dict[str, Any]
) -> None:
    database = services.stores.mongodb.database
    await database["clicks"].insert_one({"_id": 1})
    document = {"_id": 2, "query": SECRET, **broken}
    async with await database.client.start_session() as session:
        with pytest.raises(Exception) as caught:
            await run_inserts(database, "clicks", [document], session)
    reason = reason_of(caught.value)
    assert SECRET not in reason
    assert len(reason) <= 500


def test_a_reason_for_what_cannot_be_decoded_quotes_nothing_of_it() -> None:
    payload = msgspec.msgpack.encode([["c", b"short", SECRET, *[SECRET] * 9]])
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.msgpack.decode(payload, type=list[Click])
    assert SECRET not in reason_of(caught.value)
    with pytest.raises(ValueError, match="16") as malformed:
        UUID(bytes=SECRET.encode())
    assert SECRET not in reason_of(malformed.value)
