"""The limits of reports, each stated once, and the sizes of their caches in memory."""

from typing import Final

MAX_RUNNING: Final = 2
"""Reports of a process that read clicks at once: each keeps a thread and a core of MongoDB busy."""

MAX_WAITING_OF_ACCOUNT: Final = 25
MAX_WAITING: Final = 200
"""Reports that wait for a turn, of one account and in total."""

REPORT_SECONDS: Final = 30.0
"""The time limit of a report, and of its wait for a turn if it reads clicks."""

RECOUNT_SECONDS: Final = 240
"""The time limit for one day of one account. MongoDB keeps a snapshot for five minutes."""

LARGE_DAY: Final = 500_000
"""Clicks and events of a day beyond which it is counted hour by hour: a table by all dimensions may
have a row for each, which takes some 500 bytes while it is made. Of an hour with more there is no
such table."""

MAX_ROWS: Final = 2_000_000
"""Combinations of values that one report adds up in memory, over all of its days, some 200 bytes
each."""

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
