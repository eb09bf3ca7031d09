"""Every metric of the service, as a table. Exposed at `/metrics` in the Prometheus text format.

Processes that `run.py` starts together count together (`counting`). Every label is of a closed set:
a route is the path of the route table.
"""

from functools import cache

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
    generate_latest,
)

from tracker.counting import counted

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
REGISTRY = CollectorRegistry()

REQUESTS = Counter(
    "tracker_requests", "Requests answered.", ["route", "method", "status"], registry=REGISTRY
)
SPOOLED = Counter(
    "tracker_journal_spooled", "Records that went to the spool: Redis was away.", registry=REGISTRY
)
SPOOL_REFUSED = Counter(
    "tracker_spool_refused",
    "Records answered with 503: Redis was away, and the spool full or its disk failing.",
    registry=REGISTRY,
)
SPOOL_BYTES = Gauge(
    "tracker_spool_bytes",
    "Size of the spool, which the processes of a DATA_DIR share, damaged files included.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
DRAINED = Counter("tracker_drained", "Records applied to MongoDB.", ["kind"], registry=REGISTRY)
DEAD_LETTERS = Counter(
    "tracker_dead_letters",
    "Journal entries, or records of one, that could not be stored.",
    registry=REGISTRY,
)
RATE_LIMITED = Counter("tracker_rate_limited", "Requests refused.", ["scope"], registry=REGISTRY)
RATE_LIMIT_UNENFORCED = Counter(
    "tracker_rate_limit_unenforced", "Requests not counted: Redis was away.", registry=REGISTRY
)
JOURNAL_DEPTH = Gauge(
    "tracker_journal_entries",
    "Journal entries not yet in MongoDB; NaN while Redis is away.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
JOURNAL_AGE = Gauge(
    "tracker_journal_oldest_seconds",
    "Age of the oldest journal entry, 0 if there is none; NaN while Redis is away.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
DEAD_LETTER_ENTRIES = Gauge(
    "tracker_dead_letter_entries",
    "Dead letters, of every process, not yet replayed or dropped; NaN while Redis is away.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
WEBHOOK_ATTEMPTS = Counter(
    "tracker_webhook_attempts",
    "Requests to receivers: delivered, or how they failed.",
    ["outcome"],
    registry=REGISTRY,
)
WEBHOOKS_IN_FLIGHT = Gauge(
    "tracker_webhook_attempts_in_flight", "Requests to receivers under way.", registry=REGISTRY
)
DELIVERIES_DUE = Gauge(
    "tracker_webhook_deliveries_due",
    "Deliveries, of every process, that could be sent now, counted up to 100,000; NaN while "
    "MongoDB is away.",
    registry=REGISTRY,
)
DELIVERIES_AGE = Gauge(
    "tracker_webhook_deliveries_oldest_due_seconds",
    "For how long the oldest of these could have been sent, 0 if there is none; NaN while MongoDB "
    "is away.",
    registry=REGISTRY,
)


@cache
def requests(route: str, method: str, status: int) -> Counter:
    """The counter of these labels, remembered: finding it costs more than counting."""
    return REQUESTS.labels(route, method, str(status))


def exposition() -> bytes:
    """All metrics as `CONTENT_TYPE`."""
    # The times at which counters began would be as many series again.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    return generate_latest(counted(REGISTRY))
