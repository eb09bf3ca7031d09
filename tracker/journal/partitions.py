"""The partitions of the journal: streams that drains share out among themselves. Pure.

Clicks of a link share a partition, and so batches. An event is beside the claims to its
transaction. Drains store a record in any other partition just as well.
"""

from typing import Final
from zlib import crc32

MAX_PARTITIONS: Final = 64


def partition_of(spread_by: bytes, partitions: int) -> int:
    return crc32(spread_by) % partitions


def partition_of_transaction(transaction_id: str, partitions: int) -> int:
    """Return the partition of events with this transaction id, and of the claims to it."""
    return partition_of(transaction_id.encode("utf-8", "surrogatepass"), partitions)
