"""The objects of webhooks and their deliveries, built once per process."""

from collections.abc import Sequence
from typing import NamedTuple

from tracker.accounts.services import AccountServices
from tracker.conversions.event_config import EventConfigs
from tracker.dns.resolver import HostResolver
from tracker.limits.account_limiter import AccountLimiter
from tracker.links.services import LinkServices
from tracker.public_url import PublicUrl
from tracker.stores.secret_box import Purpose, SecretBox
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query
from tracker.webhooks.deliveries import Deliveries
from tracker.webhooks.limits import ATTEMPT_SECONDS, MAX_TESTS, MAX_TESTS_PER_ACCOUNT
from tracker.webhooks.payloads.sources import PayloadLoader
from tracker.webhooks.queue import DeliveryQueue
from tracker.webhooks.sending.client import WebhookClient
from tracker.webhooks.store import Webhooks
from tracker.webhooks.subscriptions.links import LinkAnnouncer as LinkAnnouncer


class WebhookServices(NamedTuple):
    """The stores of webhooks and deliveries, and the client that sends."""

    webhooks: Webhooks
    deliveries: Deliveries
    queue: DeliveryQueue
    payloads: PayloadLoader
    client: WebhookClient
    sample_limiter: AccountLimiter
    allows_http: bool
    allows_private: bool
    dns: HostResolver
    accounts: AccountServices
    links: LinkServices
    event_configs: EventConfigs
    public_url: PublicUrl


def build(
    *,
    stores: StoreServices,
    accounts: AccountServices,
    links: LinkServices,
    event_configs: EventConfigs,
    public_url: PublicUrl,
    secret_keys: Sequence[bytes],
    allows_http: bool,
    allows_private: bool,
) -> WebhookServices:
    queue = DeliveryQueue(stores.mongodb)
    return WebhookServices(
        webhooks=Webhooks(stores.mongodb, SecretBox(secret_keys, Purpose.WEBHOOK), queue),
        deliveries=Deliveries(stores.mongodb, queue),
        queue=queue,
        payloads=PayloadLoader(stores.mongodb, public_url.host),
        client=WebhookClient(allows_private, links.dns_address, links.served_hosts),
        # An API request waits for the outcome of a test, so few run at once.
        sample_limiter=AccountLimiter(
            "webhook", "tests", MAX_TESTS_PER_ACCOUNT, MAX_TESTS, ATTEMPT_SECONDS
        ),
        allows_http=allows_http,
        allows_private=allows_private,
        dns=HostResolver(links.dns_address),
        accounts=accounts,
        links=links,
        event_configs=event_configs,
        public_url=public_url,
    )


WebhookCall = Call[WebhookServices, Query, Body]
