"""Parts of a drain, which are made for each."""

from typing import NamedTuple

from tracker.accounts.services import AccountServices
from tracker.clicks.services import ClickServices
from tracker.conversions.services import ConversionServices
from tracker.ingest.drain import Drain
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.joint_counting import JointCounting
from tracker.ingest.time_zone_change import TimeZoneChanger
from tracker.journal.services import JournalServices
from tracker.stores.services import StoreServices
from tracker.webhooks.sending.sender import Sender
from tracker.webhooks.services import WebhookServices


class IngestServices(NamedTuple):
    """The rooms that a drain is made of.

    A pending conversion waits `pending_days` for its click.
    """

    stores: StoreServices
    journal: JournalServices
    clicks: ClickServices
    conversions: ConversionServices
    accounts: AccountServices
    webhooks: WebhookServices
    pending_days: int
    partitions: int

    def drain(self, slot: DrainNumber) -> Drain:
        """Return a new drain, which counts in `slot`."""
        return Drain(
            self.stores.mongodb,
            self.stores.redis,
            slot,
            self.clicks.clicks,
            self.conversions.events,
            self.conversions.account_rules,
            self.clicks.enrichment,
            self.clicks.visitors,
            self.webhooks.deliveries,
            self.pending_days,
            self.partitions,
        )

    def joint_counting(self) -> JointCounting:
        """Return a new counter of finished days."""
        return JointCounting(self.stores.mongodb, self.stores.redis, self.journal.backlog)

    def time_zone_changer(self) -> TimeZoneChanger:
        """Return the part that changes accounts' time zones."""
        return TimeZoneChanger(self.stores.mongodb, self.stores.redis, self.accounts.time_zones)

    def sender(self) -> Sender:
        """Return a new sender of deliveries, with concurrency limits of its own."""
        webhooks = self.webhooks
        return Sender(webhooks.deliveries, webhooks.webhooks, webhooks.payloads, webhooks.client)
