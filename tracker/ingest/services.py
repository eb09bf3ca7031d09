"""The parts of a drain, and how one is made."""

from functools import partial
from typing import NamedTuple

from tracker.clicks.services import ClickServices
from tracker.clicks.user_agent import build_parsers
from tracker.conversions.services import ConversionServices
from tracker.ingest.batch_parts import PART_RECORDS, apply_in_parts
from tracker.ingest.consumer import BATCH_RECORDS, Consumer
from tracker.ingest.drain import Drain
from tracker.ingest.drain_counters import CounterPublisher
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.joint_counting import JointCounting
from tracker.ingest.partition_readers import PartitionReaders
from tracker.ingest.priority import unless_behind, while_behind
from tracker.journal.services import JournalServices
from tracker.links.lists.backfill import LinkListBackfill
from tracker.stores.redis.keys import OVERFLOW
from tracker.stores.services import StoreServices
from tracker.webhooks.queue_repair import QueueRepair
from tracker.webhooks.sending.sender import Sender
from tracker.webhooks.services import WebhookServices


class DrainParts(NamedTuple):
    """The parts of one drain, which `service/background` runs."""

    drain: Drain
    consumer: Consumer
    helper: Consumer
    readers: PartitionReaders
    overflow: Consumer
    counters: CounterPublisher
    sender: Sender
    queue_repair: QueueRepair
    joint_counts: JointCounting
    link_lists: LinkListBackfill
    has_partitions: bool
    serves: bool


class IngestServices(NamedTuple):
    """The rooms that make up a drain. A pending conversion waits `pending_days` for its click."""

    stores: StoreServices
    journal: JournalServices
    clicks: ClickServices
    conversions: ConversionServices
    webhooks: WebhookServices
    pending_days: int
    partitions: int

    def drain(self, drain_number: DrainNumber) -> Drain:
        return Drain(
            self.stores,
            drain_number,
            self.clicks,
            self.conversions,
            self.webhooks.queue,
            self.pending_days,
            self.partitions,
        )

    def parts(self, drain_number: DrainNumber, serves: bool) -> DrainParts:
        """Return the parts of a new drain in a process that `serves` requests, or not."""
        redis, mongodb, webhooks = self.stores.redis, self.stores.mongodb, self.webhooks
        build_parsers()  # before the first batch, because the event loop waits for it
        drain = self.drain(drain_number)
        apply = partial(apply_in_parts, drain.apply)
        make_consumer = partial(Consumer, redis, self.stores.redis_blocking, apply)
        consumer = make_consumer()
        # So a drain that reads all partitions holds about the records of a drain with one.
        batch = max(PART_RECORDS, BATCH_RECORDS // self.partitions)
        readers = PartitionReaders(
            redis, self.partitions, lambda stream: make_consumer(stream=stream, batch=batch)
        )
        overflow_priority = unless_behind(lambda: (consumer, *readers.consumers))
        return DrainParts(
            drain=drain,
            consumer=consumer,
            helper=make_consumer(priority=while_behind(consumer)),
            readers=readers,
            overflow=make_consumer(batch=PART_RECORDS, stream=OVERFLOW, priority=overflow_priority),
            counters=CounterPublisher(redis),
            sender=Sender(
                webhooks.queue,
                webhooks.deliveries,
                webhooks.webhooks,
                webhooks.payloads,
                webhooks.client,
            ),
            queue_repair=QueueRepair(mongodb, webhooks.queue),
            joint_counts=JointCounting(mongodb, redis, self.journal.backlog, drain.stored),
            link_lists=LinkListBackfill(mongodb),
            has_partitions=self.partitions > 1,
            serves=serves,
        )
