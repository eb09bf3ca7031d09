"""The limits of reports, and the sizes of their caches."""

from typing import Final

from tracker.limits.permits import PermitLimits

COUNTING: Final = PermitLimits(1, 2, 25, 200)
"""Requests that count clicks: each keeps a thread and a core of MongoDB busy."""

READING: Final = PermitLimits(2, 4, 100, 400)
"""Requests that read counts. Each panel of an overview takes the event loop some milliseconds."""

REPORT_SECONDS: Final = 30.0
"""The time limit of a request for reports, including its waits."""

MEMORY_BYTES: Final = 768 * 1024 * 1024
MEMORY_BYTES_OF_ACCOUNT: Final = 512 * 1024 * 1024
"""The memory of all reports of a process, and of one account."""

MEMORY_BYTES_OF_SMALL: Final = 64 * 1024 * 1024
"""The part of both that is reserved for small reports. They never wait for large ones, or for slow
downloads."""

SMALL_BYTES: Final = 8 * 1024 * 1024
"""The memory of a small report. The lengths of its values are not looked up."""

MEMORY_SECONDS: Final = 10.0

ROW_BYTES: Final = 250
TEXT_COPIES: Final = 3
"""The bytes of a row, and the copies of its text, while a report is made. Measured with a million
values of 16 characters: 270 MB."""

WIDE_BYTES: Final = 4
"""Bytes of each character, if a text is not ASCII: one emoji makes the whole text so wide."""

RECOUNT_SECONDS: Final = 240
"""The time limit for one day of an account. MongoDB keeps a snapshot for five minutes."""

LARGE_DAY: Final = 500_000
"""A day with more clicks and events is counted by the hour. A table by all dimensions may have a
row for each, of some 500 bytes. Larger hours have no such table."""

MAX_ROWS: Final = 2_000_000
"""Combinations of values that one report adds up in memory, over all of its days."""

MAX_OWN_VALUES: Final = 1000
"""Values of an own parameter that counts of a finished day have for each link."""

FEW_DOCUMENTS: Final = 2000
"""Documents of an hour that are counted each time: 5 ms, without a permit to count. To cache their
counts, a write would wait for the disk."""

MAX_TESTS: Final = 10_000
"""Test clicks, and test conversions, in one report: 0.1 s, without a permit to count."""

ROWS_AT_ONCE: Final = 100_000
"""Rows of several periods that are read or stored together."""

SUMS_PER_TRANSACTION: Final = 20_000
"""Sums that a recount corrects in one transaction. Encoding them blocks requests for 10 ms."""

DEFAULT_PAGE_ROWS: Final = 25

CACHED_AMOUNTS: Final = 10_000
"""Amounts of money that stay converted in memory, for each direction."""

CACHED_PATHS: Final = 10_000
"""Combinations of values whose paths stay in memory."""

CACHED_DAYS: Final = 100
"""Days whose text stays in memory."""
