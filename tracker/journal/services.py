"""The journal, and how far the drains are behind it."""

from pathlib import Path
from typing import NamedTuple

from tracker.journal.backlog import Backlog
from tracker.journal.cluster_journal import ClusterJournal
from tracker.journal.dead_letters import streams_of_letters
from tracker.journal.journal import Journal
from tracker.journal.spool import Spool
from tracker.stores.redis.cluster import is_cluster
from tracker.stores.redis.memory_budget import BudgetMeter
from tracker.stores.services import StoreServices


class JournalServices(NamedTuple):
    """The journal and its measures. `budget_meter` leaves room for it in Redis."""

    journal: Journal
    backlog: Backlog
    budget_meter: BudgetMeter


def build(
    *,
    stores: StoreServices,
    partitions: int,
    replicas: int,
    spool: Path,
    spool_max_bytes: int,
    redis_memory_bytes: int,
) -> JournalServices:
    backlog = Backlog(stores.redis, partitions)
    kind = ClusterJournal if is_cluster(stores.redis) else Journal
    return JournalServices(
        journal=kind(
            stores.redis, stores.breaker, Spool(spool, spool_max_bytes), partitions, replicas
        ),
        backlog=backlog,
        budget_meter=BudgetMeter(
            stores.redis,
            stores.budget,
            redis_memory_bytes,
            [*backlog.streams, *streams_of_letters(stores.redis)],
        ),
    )
