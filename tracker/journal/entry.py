"""The format of a journal entry: one field, named by the version, with records in MessagePack.

Guarantee: an entry that an older release wrote is still read.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

VERSION: Final = b"1"
"""Name of the field that holds the records. A release that changes the format uses another."""

_ENCODER: Final = msgspec.msgpack.Encoder()

Fields = Mapping[bytes, bytes]


class JournalRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record, encoded as an array. Add fields only at the end, with a default."""

    @property
    def partition_key(self) -> bytes:
        """Return the bytes that decide the partition; empty: all records share one."""
        return b""

    @property
    def overflow_account(self) -> bytes:
        """Return the account for the overflow to count; empty: none is known."""
        return b""


AnyRecord = TypeVar("AnyRecord", bound=JournalRecord)

EncodedRecord = msgspec.Raw


def encode_record(record: JournalRecord) -> EncodedRecord:
    """Return `record` encoded. Raises UnicodeEncodeError if a text holds half a surrogate pair."""
    return EncodedRecord(_ENCODER.encode(record))


def encode(records: Sequence[JournalRecord | EncodedRecord]) -> bytes:
    """Return the payload of an entry. Raises UnicodeEncodeError as `encode_record` does."""
    return _ENCODER.encode(records)


def fields_of(payload: bytes) -> dict[Any, Any]:
    return {VERSION: payload}


def record_count(fields: Fields) -> int:
    """Return the number of records, read from the head of the MessagePack array; 0 without one."""
    payload = fields.get(VERSION, b"")
    if payload[:1] == b"\xdc":
        return int.from_bytes(payload[1:3])
    return payload[0] & 0x0F if payload and payload[0] >> 4 == 0x9 else 0


class EntryDecoder(Generic[AnyRecord]):
    """A decoder for entries whose records are of the given kinds, such as `list[Click | Event]`."""

    def __init__(self, records: type[list[AnyRecord]]) -> None:
        self._decoder = msgspec.msgpack.Decoder(records)

    def decode(self, fields: Fields) -> list[AnyRecord]:
        """Return the records of an entry. Raises ValueError if the format or a kind is unknown."""
        if VERSION not in fields:
            raise ValueError(f"unknown format {b', '.join(fields).decode(errors='replace')}")
        return self._decoder.decode(fields[VERSION])
