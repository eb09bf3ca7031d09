"""The limit of a dict from which the oldest entries are dropped first."""

from itertools import islice
from typing import Any, Final

_SHARE_AT_ONCE: Final = 64
"""The part that is dropped at once is 1/64. The first entry of a dict is searched behind all that
were dropped since it last grew: one at a time, of 100,000, each new entry took 31 µs."""


def drop_oldest(entries: dict[Any, Any], max_entries: int) -> None:
    """Drop the entries inserted first, if there are more than `max_entries`."""
    if len(entries) > max_entries:
        excess = len(entries) - max_entries
        for name in list(islice(entries, excess + max_entries // _SHARE_AT_ONCE)):
            del entries[name]
