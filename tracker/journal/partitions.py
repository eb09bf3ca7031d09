"""The partitions of the journal: streams that drains share out among themselves. Pure.

Clicks of a link share a partition, and so batches. An event shares one with the claims of its
transaction id. Drains store records that are in another partition too.
"""

from typing import Final
from zlib import crc32

MAX_PARTITIONS: Final = 64


def partition_of(partition_key: bytes, partitions: int) -> int:
    return crc32(partition_key) % partitions


def partition_of_transaction_id(transaction_id: str, partitions: int) -> int:
    """Return the partition of events with this transaction id, and of its claims."""
    return partition_of(transaction_id.encode("utf-8", "surrogatepass"), partitions)


def others_after(stream: int, partitions: int) -> list[int]:
    """Return the other partitions, beginning after the stream. The overflow is the last stream."""
    return [*range(stream + 1, partitions), *range(stream)]
