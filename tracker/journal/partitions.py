"""The partitions of the journal: streams that drains share out among themselves. Pure.

A record always goes to the same partition, so the clicks of a link share one drain's batches, and
an event shares its partition with the claims to its transaction id. A record in another partition
is stored all the same.
"""

from typing import Final
from zlib import crc32

MAX_PARTITIONS: Final = 64


def partition_of(spread_by: bytes, partitions: int) -> int:
    """Return the partition, from 0 to `partitions` - 1, of what is spread by these bytes."""
    return crc32(spread_by) % partitions


def partition_of_transaction(transaction_id: str, partitions: int) -> int:
    """Return the partition of events with this transaction id, and of the claims to it."""
    return partition_of(transaction_id.encode("utf-8", "surrogatepass"), partitions)
