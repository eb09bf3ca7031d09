"""Errors of the drain, sorted by their cause: a store, which may recover, or a record. Pure."""

from typing import Final

from bson.errors import BSONError
from pymongo.errors import DocumentTooLarge, OperationFailure, PyMongoError
from redis.exceptions import RedisError

from tracker.conversions.document import EventIdTaken
from tracker.errors import Unavailable
from tracker.ingest.planning.write_set import WriteConflict

# BadValue, DollarPrefixedFieldName, EmptyFieldName, DottedFieldName, DocumentValidationFailure,
# BSONObjectTooLarge (three numbers).
_RECORD_FAULT_CODES: Final = {2, 52, 56, 57, 121, 10334, 17280, 17419}

# FailedToParse, TypeMismatch, PathNotViable, ConflictingUpdateOperators: the fault of the record,
# or of a document that was changed by hand.
_PERMANENT_CODES: Final = {9, 14, 28, 40}

_TRANSACTION_TOO_LARGE_CODE: Final = 388

MAX_REASON_CHARACTERS: Final = 500
"""Characters of a dead letter's reason; an error may quote a whole record."""


def is_fault_of_record(error: Exception) -> bool:
    """Return whether the record can never be stored, however often it is tried."""
    if isinstance(error, OperationFailure):
        return error.code in _RECORD_FAULT_CODES
    return isinstance(error, ValueError | ArithmeticError | BSONError | EventIdTaken)


def is_retryable(error: Exception) -> bool:
    """Return whether a later try may succeed, as when a store is unavailable.

    An error that is neither retryable nor a record's fault may be a bug of ours.
    """
    if isinstance(error, OperationFailure):
        return error.code not in _RECORD_FAULT_CODES | _PERMANENT_CODES
    return isinstance(error, WriteConflict | RedisError | PyMongoError | Unavailable)


def is_too_large(error: Exception) -> bool:
    """Return whether a command or a transaction was too large, so that a part of it may fit."""
    return isinstance(error, DocumentTooLarge) or (
        isinstance(error, OperationFailure) and error.code == _TRANSACTION_TOO_LARGE_CODE
    )


def reason_of(error: Exception) -> str:
    """Return the reason for a dead letter, without the document that the driver quotes."""
    if isinstance(error, OperationFailure):
        return f"{type(error).__name__}: code {error.code}"
    return f"{type(error).__name__}: {error}"[:MAX_REASON_CHARACTERS]
