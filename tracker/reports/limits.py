"""The limits of reports, each stated once, and the sizes of their caches in memory."""

from typing import Final, NamedTuple


class PlaceLimits(NamedTuple):
    """How many requests of an account and of all may do some work at once, or wait for it."""

    of_account: int
    of_all: int
    waiting_of_account: int
    waiting_of_all: int


COUNTING: Final = PlaceLimits(1, 2, 25, 200)
"""Requests that count clicks: each keeps a thread and a core of MongoDB busy."""

READING: Final = PlaceLimits(2, 4, 100, 400)
"""Requests that read what is counted. An overview has some milliseconds of the event loop for
each panel, and of that visitors wait for as many at most as are under way."""

REPORT_SECONDS: Final = 30.0
"""The time limit of a request for reports, its waits for places included."""

MEMORY_BYTES: Final = 768 * 1024 * 1024
MEMORY_BYTES_OF_ACCOUNT: Final = 512 * 1024 * 1024
"""The memory of all reports of a process together, and of those of one account."""

MEMORY_BYTES_OF_SMALL: Final = 64 * 1024 * 1024
"""The part of both that only small reports take, so that they need not wait for large ones, nor for
files whose clients read slowly."""

SMALL_BYTES: Final = 8 * 1024 * 1024
"""The memory of a small report. Of so few rows nobody asks how long their values are."""

MEMORY_SECONDS: Final = 10.0
"""How long a report waits for memory that others have."""

ROW_BYTES: Final = 250
TEXT_COPIES: Final = 3
"""The bytes that a row takes at most while a report is made, and how often the text of its values
is there. Measured with a million values of 16 characters: 270 MB."""

WIDE_BYTES: Final = 4
"""The bytes of each character of a text that is not ASCII: one emoji makes all of it so wide."""

RECOUNT_SECONDS: Final = 240
"""The time limit for one day of one account. MongoDB keeps a snapshot for five minutes."""

LARGE_DAY: Final = 500_000
"""Clicks and events of a day beyond which it is counted hour by hour: a table by all dimensions may
have a row for each, which takes some 500 bytes while it is made. Of an hour with more there is no
such table."""

MAX_ROWS: Final = 2_000_000
"""Combinations of values that one report adds up in memory, over all of its days."""

MAX_TESTS: Final = 10_000
"""Clicks, and conversions, of tests that one report reads: 0.1 s, without waiting for a place to
count."""

ROWS_AT_ONCE: Final = 100_000
"""Rows of several periods that are read or stored together, about."""

SUMS_PER_TRANSACTION: Final = 20_000
"""Sums that a recount corrects at once. MongoDB limits the size of a transaction, and the driver
encodes so many in 10 ms, while no request is served."""

DEFAULT_PAGE_ROWS: Final = 25
"""Rows on a page of a report, unless the query says otherwise."""

CACHED_AMOUNTS: Final = 10_000
"""Amounts of money that stay converted in memory, for each direction."""

CACHED_PATHS: Final = 10_000
"""Combinations of values whose paths stay in memory."""

CACHED_DAYS: Final = 100
"""Days whose text stays in memory."""
