"""The objects of feeds, built once per process."""

from typing import NamedTuple

from tracker.accounts.services import AccountServices
from tracker.accounts.time_zones import TimeZones
from tracker.clicks.redirect import Redirect
from tracker.clicks.services import ClickServices
from tracker.conversions.event_config import EventConfigs
from tracker.conversions.recorder import Recorder
from tracker.conversions.refusals import Refusals
from tracker.conversions.services import ConversionServices
from tracker.feeds.clicks import CLICKS, StoredClick
from tracker.feeds.conversions import ConversionFeed
from tracker.feeds.feed import Feed
from tracker.links.services import LinkServices
from tracker.links.store import Links
from tracker.public_url import PublicUrl
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query
from tracker.webhooks.deliveries import Deliveries
from tracker.webhooks.services import WebhookServices
from tracker.webhooks.store import Webhooks


class FeedServices(NamedTuple):
    """Both feeds, and the stores that endpoints of this room read."""

    click_feed: Feed[StoredClick]
    conversion_feed: ConversionFeed
    links: Links
    event_configs: EventConfigs
    recorder: Recorder
    refusals: Refusals
    redirect: Redirect
    webhooks: Webhooks
    deliveries: Deliveries
    time_zones: TimeZones
    mongodb: MongoDB
    public_url: PublicUrl


def build(
    stores: StoreServices,
    links: LinkServices,
    clicks: ClickServices,
    conversions: ConversionServices,
    accounts: AccountServices,
    webhooks: WebhookServices,
) -> FeedServices:
    host = links.public_url.host
    return FeedServices(
        click_feed=Feed(CLICKS, stores.mongodb.reads, host),
        conversion_feed=ConversionFeed(stores.mongodb.reads, host),
        links=links.links,
        event_configs=conversions.event_configs,
        recorder=conversions.recorder,
        refusals=conversions.refusals,
        redirect=clicks.redirect,
        webhooks=webhooks.webhooks,
        deliveries=webhooks.deliveries,
        time_zones=accounts.time_zones,
        mongodb=stores.mongodb,
        public_url=links.public_url,
    )


FeedCall = Call[FeedServices, Query, Body]
"""A call of an endpoint of this room."""
