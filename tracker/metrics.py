"""Every metric of the service, exposed at `/metrics` in the Prometheus text format.

Each label has a closed set of values; a route is a path of the route table.
"""

from collections.abc import Iterable
from functools import cache, partial

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

_counter = partial(Counter, registry=REGISTRY)
_gauge = partial(Gauge, registry=REGISTRY)
_latest = partial(Gauge, registry=REGISTRY, multiprocess_mode="mostrecent")
"""A gauge of something that all processes share, so the last value counts."""

REQUESTS = _counter("tracker_requests", "Requests answered.", ["route", "method", "status"])
SPOOLED = _counter(
    "tracker_journal_spooled", "Records written to the spool because Redis was unavailable."
)
SPOOL_REFUSED = _counter(
    "tracker_spool_refused",
    "Records answered with 503: Redis was unavailable, and the spool was full or its disk failing.",
)
SPOOL_BYTES = _latest(
    "tracker_spool_bytes",
    "Size of the spool, damaged files included. The processes of a DATA_DIR share it.",
)
SPOOL_RESTORED = _counter(
    "tracker_spool_files_restored",
    "Spool files that were removed or renamed before they were replayed, and written again.",
)
DRAINED = _counter("tracker_drained", "Records applied to MongoDB.", ["kind"])
DEAD_LETTERS = _counter(
    "tracker_dead_letters", "Journal entries, or single records of them, that could not be stored."
)
LOOP_FAILURES = _counter(
    "tracker_background_loop_failures",
    "Errors that ended a background loop or one of its steps. The loop is restarted.",
    ["loop"],
)
LOOP_UP = _gauge(
    "tracker_background_loop_up",
    "1 while a background loop runs in every process, 0 while it waits for a restart in any.",
    ["loop"],
    multiprocess_mode="min",
)
LONGEST_TURN = _gauge(
    "tracker_event_loop_longest_turn_seconds",
    "Longest time that everything in a process waited for one piece of its work, or for a core, in "
    "the last 15 to 30 seconds.",
    multiprocess_mode="max",
)
RATE_LIMITED = _counter("tracker_rate_limited", "Requests refused by a rate limit.", ["scope"])
SIGN_INS_REFUSED = _counter(
    "tracker_sign_ins_refused", "Attempts to sign in with a wrong e-mail, password or code."
)
RATE_LIMIT_UNENFORCED = _counter(
    "tracker_rate_limit_unenforced",
    "Requests that no rate limit counted because Redis was unavailable or full.",
)
LOOK_UPS_SHARED = _counter(
    "tracker_look_ups_shared",
    "Look-ups in MongoDB of addresses that requested too many unknown names, under the limit that "
    "all such addresses share: answered, or refused because too many waited.",
    ["outcome"],
)
PENDING_REFUSED = _counter(
    "tracker_pending_refused",
    "Conversions without postback key answered with 429 because their address named too many "
    "clicks that are not stored.",
)
CONVERSIONS_REFUSED = _counter(
    "tracker_conversions_refused",
    "Conversions that broke a rule of their account: answered with 400, or stored and not counted.",
    ["rule"],
)
CORRECTIONS_DROPPED = _counter(
    "tracker_corrections_dropped", "Corrections of conversions that were not stored any more."
)
POSTBACKS_REFUSED = _counter(
    "tracker_postbacks_refused",
    "Requests to report a conversion that were refused (4xx), by the part at fault.",
    ["reason"],
)
POSTBACKS_NOT_STORED = _counter(
    "tracker_postbacks_not_kept",
    "Refused requests that their accounts cannot see, because there were too many at once or "
    "MongoDB did not answer.",
)
JOURNAL_DEPTH = _latest(
    "tracker_journal_entries", "Journal entries not yet in MongoDB; NaN while Redis is unavailable."
)
JOURNAL_AGE = _latest(
    "tracker_journal_oldest_seconds",
    "Age of the oldest journal entry, 0 if there is none; NaN while Redis is unavailable.",
)
DEAD_LETTER_ENTRIES = _latest(
    "tracker_dead_letter_entries",
    "Dead letters of all processes that are not yet replayed or dropped; NaN while Redis is "
    "unavailable.",
)
REDIS_OPTIONAL_BYTES = _latest(
    "tracker_redis_optional_bytes",
    "Memory of Redis used by everything but the journal and dead letters, as last measured.",
)
REDIS_OPTIONAL_LIMIT = _latest(
    "tracker_redis_optional_limit_bytes",
    "Limit of tracker_redis_optional_bytes: half of maxmemory, or of REDIS_MEMORY_BYTES.",
)
REDIS_SKIPPED = _counter(
    "tracker_redis_optional_writes_skipped",
    "Writes to Redis skipped because tracker_redis_optional_bytes neared its limit.",
    ["kind"],
)
COPIES_RESTORED = _counter(
    "tracker_copies_restored",
    "Links and event configurations that were looked at since Redis was new, and copied to it.",
)
COPIES_EVICTED = _counter(
    "tracker_copies_evicted",
    "Copies removed from Redis to make room: the longest unused of those that do not fit.",
)
WEBHOOK_ATTEMPTS = _counter(
    "tracker_webhook_attempts",
    "Requests to receivers by outcome: delivered, or how they failed.",
    ["outcome"],
)
WEBHOOKS_IN_FLIGHT = _gauge(
    "tracker_webhook_attempts_in_flight", "Requests to receivers in flight."
)
WEBHOOKS_POSTPONED = _counter(
    "tracker_webhooks_withheld",
    "Times that a webhook was paused for a minute because its signing secret could not be read.",
)
DELIVERIES_DUE = _gauge(
    "tracker_webhook_deliveries_due",
    "Deliveries of all processes that could be sent now, counted up to 100,000; NaN while MongoDB "
    "is unavailable.",
)
DELIVERIES_AGE = _gauge(
    "tracker_webhook_deliveries_oldest_due_seconds",
    "Age of the oldest due delivery since it became due, 0 if there is none; NaN while MongoDB is "
    "unavailable.",
)
CONNECTIONS_REFUSED = _counter(
    "tracker_connections_refused",
    "Connections closed at once because too many were open: in total (total), or from one address "
    "(address).",
    ["reason"],
)
LOG_LINES_DROPPED = _counter(
    "tracker_log_lines_dropped", "Log lines dropped because nobody read standard error."
)
BODIES_DROPPED = _counter(
    "tracker_bodies_dropped",
    "Request bodies dropped because all bodies being received held too much memory.",
)
EXPORTS_CUT = _counter(
    "tracker_exports_cut",
    "Exports whose connection was cut before their last row, because of an error, a time limit or "
    "the end of the access that began them.",
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

_KNOWN_LABELS = (
    (DRAINED, "click event"),
    (WEBHOOK_ATTEMPTS, "delivered 3xx 4xx 5xx timeout dns private own tls connection"),
    (WEBHOOK_ATTEMPTS, "payload internal expired untold refused token"),
    (LOOP_FAILURES, "sweep event_ids"),  # `tracker/loops` does not start these two
    (CONNECTIONS_REFUSED, "total address"),
    (LOOK_UPS_SHARED, "answered refused"),
)
_FAILURES = (500, 503)

# Series are made on import. Prometheus sees no increase in the first value of a series, so an alert
# would miss its first event. A later series would count all events of a replaced worker at once.
for _one, _labels in _KNOWN_LABELS:
    for _label in _labels.split():
        _one.labels(_label)


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
