"""The objects of feeds, built once per process."""

from typing import NamedTuple

from tracker.accounts.services import AccountServices
from tracker.clicks.services import ClickServices
from tracker.conversions.services import ConversionServices
from tracker.feeds.clicks import CLICKS, StoredClick
from tracker.feeds.conversions import ConversionFeed
from tracker.feeds.corrections.correct import Corrections
from tracker.feeds.feed import Feed
from tracker.journal.services import JournalServices
from tracker.links.services import LinkServices
from tracker.public_url import PublicUrl
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query
from tracker.webhooks.services import WebhookServices


class FeedServices(NamedTuple):
    """Both feeds, corrections, and the rooms whose documents they show."""

    reads: MongoReads
    click_feed: Feed[StoredClick]
    conversion_feed: ConversionFeed
    corrections: Corrections
    accounts: AccountServices
    clicks: ClickServices
    conversions: ConversionServices
    links: LinkServices
    webhooks: WebhookServices
    public_url: PublicUrl


def build(
    *,
    stores: StoreServices,
    journal: JournalServices,
    accounts: AccountServices,
    clicks: ClickServices,
    conversions: ConversionServices,
    links: LinkServices,
    webhooks: WebhookServices,
    public_url: PublicUrl,
) -> FeedServices:
    return FeedServices(
        reads=stores.mongodb.reads,
        click_feed=Feed(CLICKS, stores.mongodb.reads, public_url.host),
        conversion_feed=ConversionFeed(stores.mongodb.reads, public_url.host),
        corrections=Corrections(stores.mongodb, journal.journal),
        accounts=accounts,
        clicks=clicks,
        conversions=conversions,
        links=links,
        webhooks=webhooks,
        public_url=public_url,
    )


FeedCall = Call[FeedServices, Query, Body]
"""A call of an endpoint of this room."""
