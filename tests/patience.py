"""The patience of tests for stores: a machine that stalls, or a busy disk, is no outage."""

from collections.abc import Callable
from typing import Final

from tracker.conversions import append, look_ups, recorder
from tracker.service.api import metrics, readiness
from tracker.stores.cache import changes, lookup
from tracker.stores.mongodb import drivers, transaction
from tracker.stores.redis import clients, sentinels, topology

STALL_SECONDS: Final = 20.0
"""How long tests wait for a store, where a service waits one or two seconds."""


def be_patient(set_to: Callable[[object, str, float], None]) -> None:
    """Have each limit of a wait for a store set to STALL_SECONDS, given its module and name."""
    for module, name in (
        (clients, "REQUEST_TIMEOUT_SECONDS"),
        (sentinels, "ANSWER_SECONDS"),
        (topology, "_ANSWER_SECONDS"),
        (changes, "SILENCE_SECONDS"),
        (drivers, "MONGODB_TIMEOUT_SECONDS"),
        (transaction, "RETRY_SECONDS"),
        (lookup, "LOAD_SECONDS"),
        (look_ups, "LOOK_UP_SECONDS"),
        (append, "LOOK_UP_SECONDS"),
        (recorder, "LOOK_UP_SECONDS"),
        (metrics, "_PROBE_TIMEOUT_SECONDS"),
        (readiness, "PROBE_TIMEOUT_SECONDS"),
    ):
        set_to(module, name, STALL_SECONDS)
