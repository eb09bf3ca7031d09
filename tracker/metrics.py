"""Every metric of the service, as a table. Exposed at `/metrics` in the Prometheus text format."""

from prometheus_client import CollectorRegistry, Counter, Gauge

REGISTRY = CollectorRegistry()

REQUESTS = Counter(
    "tracker_requests", "Requests answered.", ["route", "method", "status"], registry=REGISTRY
)
SPOOLED = Counter(
    "tracker_journal_spooled", "Records that went to the spool: Redis was away.", registry=REGISTRY
)
DRAINED = Counter("tracker_drained", "Records applied to MongoDB.", ["kind"], registry=REGISTRY)
DEAD_LETTERS = Counter(
    "tracker_dead_letters", "Journal entries that could not be stored.", registry=REGISTRY
)
RATE_LIMITED = Counter("tracker_rate_limited", "Requests refused.", ["scope"], registry=REGISTRY)
RATE_LIMIT_UNENFORCED = Counter(
    "tracker_rate_limit_unenforced", "Requests not counted: Redis was away.", registry=REGISTRY
)
JOURNAL_DEPTH = Gauge(
    "tracker_journal_entries", "Journal entries not yet in MongoDB.", registry=REGISTRY
)
JOURNAL_AGE = Gauge(
    "tracker_journal_oldest_seconds", "Age of the oldest journal entry.", registry=REGISTRY
)
