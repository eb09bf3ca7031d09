"""The limits of reports, each stated once, and the sizes of their caches in memory."""

from typing import Final

MAX_COUNTING_OF_ACCOUNT: Final = 1
MAX_COUNTING: Final = 2
"""Requests that count clicks at once, of one account and of a process: each keeps a thread and a
core of MongoDB busy."""

MAX_READING_OF_ACCOUNT: Final = 2
MAX_READING: Final = 4
"""Requests that read what is counted at once. An overview has some milliseconds of the event loop
for each panel, and of that visitors wait for as many at most as are under way."""

MAX_WAITING_OF_ACCOUNT: Final = 25
MAX_WAITING: Final = 200
"""Requests that wait for a place to count, of one account and in total."""

MAX_WAITING_TO_READ_OF_ACCOUNT: Final = 100
MAX_WAITING_TO_READ: Final = 400
"""Requests that wait for a place to read."""

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
