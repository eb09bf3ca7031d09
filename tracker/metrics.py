"""Every metric of the service, exposed at `/metrics` in the Prometheus text format.

Each label has a closed set of values; a route is a path of the route table.
"""

from collections.abc import Iterable
from functools import cache

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tracker.multiprocess_metrics import aggregated

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
REGISTRY = CollectorRegistry()

REQUESTS = Counter(
    "tracker_requests", "Requests answered.", ["route", "method", "status"], registry=REGISTRY
)
SPOOLED = Counter(
    "tracker_journal_spooled",
    "Records written to the spool because Redis was unavailable.",
    registry=REGISTRY,
)
SPOOL_REFUSED = Counter(
    "tracker_spool_refused",
    "Records answered with 503: Redis was unavailable, and the spool was full or its disk failing.",
    registry=REGISTRY,
)
SPOOL_BYTES = Gauge(
    "tracker_spool_bytes",
    "Size of the spool, damaged files included. The processes of a DATA_DIR share it.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
SPOOL_RESTORED = Counter(
    "tracker_spool_files_restored",
    "Spool files that were removed or renamed before they were replayed, and written again.",
    registry=REGISTRY,
)
DRAINED = Counter("tracker_drained", "Records applied to MongoDB.", ["kind"], registry=REGISTRY)
DEAD_LETTERS = Counter(
    "tracker_dead_letters",
    "Journal entries, or single records of them, that could not be stored.",
    registry=REGISTRY,
)
LOOP_FAILURES = Counter(
    "tracker_background_loop_failures",
    "Errors that ended a background loop or one of its steps. The loop is restarted.",
    ["loop"],
    registry=REGISTRY,
)
LOOP_UP = Gauge(
    "tracker_background_loop_up",
    "1 while a background loop runs in every process, 0 while it waits for a restart in any.",
    ["loop"],
    multiprocess_mode="min",
    registry=REGISTRY,
)
LONGEST_TURN = Gauge(
    "tracker_event_loop_longest_turn_seconds",
    "Longest time that everything in a process waited for one piece of its work, or for a core, in "
    "the last 15 to 30 seconds.",
    multiprocess_mode="max",
    registry=REGISTRY,
)
RATE_LIMITED = Counter(
    "tracker_rate_limited", "Requests refused by a rate limit.", ["scope"], registry=REGISTRY
)
SIGN_INS_REFUSED = Counter(
    "tracker_sign_ins_refused",
    "Attempts to sign in with a wrong e-mail, password or code.",
    registry=REGISTRY,
)
RATE_LIMIT_UNENFORCED = Counter(
    "tracker_rate_limit_unenforced",
    "Requests that no rate limit counted because Redis was unavailable or full.",
    registry=REGISTRY,
)
LOOK_UPS_SHARED = Counter(
    "tracker_look_ups_shared",
    "Look-ups in MongoDB of addresses that requested too many unknown names, under the limit that "
    "all such addresses share: answered, or refused because too many waited.",
    ["outcome"],
    registry=REGISTRY,
)
PENDING_REFUSED = Counter(
    "tracker_pending_refused",
    "Conversions without postback key answered with 429 because their address named too many "
    "clicks that are not stored.",
    registry=REGISTRY,
)
CONVERSIONS_REFUSED = Counter(
    "tracker_conversions_refused",
    "Conversions that broke a rule of their account: answered with 400, or stored and not counted.",
    ["rule"],
    registry=REGISTRY,
)
POSTBACKS_REFUSED = Counter(
    "tracker_postbacks_refused",
    "Requests to report a conversion that were refused (4xx), by the part at fault.",
    ["reason"],
    registry=REGISTRY,
)
POSTBACKS_NOT_STORED = Counter(
    "tracker_postbacks_not_kept",
    "Refused requests that their accounts cannot see, because there were too many at once or "
    "MongoDB did not answer.",
    registry=REGISTRY,
)
JOURNAL_DEPTH = Gauge(
    "tracker_journal_entries",
    "Journal entries not yet in MongoDB; NaN while Redis is unavailable.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
JOURNAL_AGE = Gauge(
    "tracker_journal_oldest_seconds",
    "Age of the oldest journal entry, 0 if there is none; NaN while Redis is unavailable.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
DEAD_LETTER_ENTRIES = Gauge(
    "tracker_dead_letter_entries",
    "Dead letters of all processes that are not yet replayed or dropped; NaN while Redis is "
    "unavailable.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
REDIS_OPTIONAL_BYTES = Gauge(
    "tracker_redis_optional_bytes",
    "Memory of Redis used by everything but the journal and dead letters, as last measured.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
REDIS_OPTIONAL_LIMIT = Gauge(
    "tracker_redis_optional_limit_bytes",
    "Limit of tracker_redis_optional_bytes: half of maxmemory, or of REDIS_MEMORY_BYTES.",
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
REDIS_SKIPPED = Counter(
    "tracker_redis_optional_writes_skipped",
    "Writes to Redis skipped because tracker_redis_optional_bytes neared its limit.",
    ["kind"],
    registry=REGISTRY,
)
COPIES_RESTORED = Counter(
    "tracker_copies_restored",
    "Links and event configurations that were looked at since Redis was new, and copied to it.",
    registry=REGISTRY,
)
COPIES_EVICTED = Counter(
    "tracker_copies_evicted",
    "Copies removed from Redis to make room: the longest unused of those that do not fit.",
    registry=REGISTRY,
)
WEBHOOK_ATTEMPTS = Counter(
    "tracker_webhook_attempts",
    "Requests to receivers by outcome: delivered, or how they failed.",
    ["outcome"],
    registry=REGISTRY,
)
WEBHOOKS_IN_FLIGHT = Gauge(
    "tracker_webhook_attempts_in_flight", "Requests to receivers in flight.", registry=REGISTRY
)
WEBHOOKS_POSTPONED = Counter(
    "tracker_webhooks_withheld",
    "Times that a webhook was paused for a minute because its signing secret could not be read.",
    registry=REGISTRY,
)
DELIVERIES_DUE = Gauge(
    "tracker_webhook_deliveries_due",
    "Deliveries of all processes that could be sent now, counted up to 100,000; NaN while MongoDB "
    "is unavailable.",
    registry=REGISTRY,
)
DELIVERIES_AGE = Gauge(
    "tracker_webhook_deliveries_oldest_due_seconds",
    "Age of the oldest due delivery since it became due, 0 if there is none; NaN while MongoDB is "
    "unavailable.",
    registry=REGISTRY,
)
CONNECTIONS_REFUSED = Counter(
    "tracker_connections_refused",
    "Connections closed at once because too many were open: in total (total), or from one address "
    "(address).",
    ["reason"],
    registry=REGISTRY,
)
LOG_LINES_DROPPED = Counter(
    "tracker_log_lines_dropped",
    "Log lines dropped because nobody read standard error.",
    registry=REGISTRY,
)
BODIES_DROPPED = Counter(
    "tracker_bodies_dropped",
    "Request bodies dropped because all bodies being received held too much memory.",
    registry=REGISTRY,
)
EXPORTS_CUT = Counter(
    "tracker_exports_cut",
    "Exports whose connection was cut before their last row, because of an error, a time limit or "
    "the end of the access that began them.",
    registry=REGISTRY,
)

DRAIN_COUNTERS = (
    DRAINED,
    DEAD_LETTERS,
    WEBHOOK_ATTEMPTS,
    WEBHOOKS_POSTPONED,
    REDIS_SKIPPED,
    LOOP_FAILURES,
)
"""Counters that drains publish in Redis, for every process to show (`ingest/drain_counters`)."""

_OUTCOMES = (
    *("delivered", "3xx", "4xx", "5xx", "timeout", "dns", "private", "own", "tls", "connection"),
    *("payload", "internal"),
)
_UNSUPERVISED = ("sweep", "event_ids")
"""Loops that `tracker/loops` does not start. It counts their errors."""

_FAILURES = (500, 503)

# Series are made on import. Prometheus sees no increase in the first value of a series, so an alert
# would miss its first event. A later series would count all events of a replaced worker at once.
for _kind in ("click", "event"):
    DRAINED.labels(_kind)
for _outcome in _OUTCOMES:
    WEBHOOK_ATTEMPTS.labels(_outcome)
for _loop in _UNSUPERVISED:
    LOOP_FAILURES.labels(_loop)
for _reason in ("total", "address"):
    CONNECTIONS_REFUSED.labels(_reason)
for _outcome in ("answered", "refused"):
    LOOK_UPS_SHARED.labels(_outcome)


@cache
def requests(route: str, method: str, status: int) -> Counter:
    """Return the counter of these labels, cached: finding it costs more than counting."""
    return REQUESTS.labels(route, method, str(status))


def show_failures(route: str, methods: Iterable[str]) -> None:
    """Make the series of a route's failures, at 0."""
    for method in methods:
        for status in _FAILURES:
            requests(route, method, status)


show_failures("unknown", ("GET", "HEAD", "POST", "other"))


class _ExternalMetrics(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def exposition(others: Iterable[Metric] = ()) -> bytes:
    # The creation times of counters would double the number of series.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    return generate_latest(aggregated(REGISTRY)) + generate_latest(_ExternalMetrics(others))
