"""The parts of a process that endpoints need; `tracker.service.services` provides them."""

import asyncio
from typing import Protocol

from redis.asyncio import Redis

from config.settings import Settings
from tracker.access.accounts import Accounts
from tracker.access.api_keys import ApiKeys
from tracker.access.audit import Audit
from tracker.access.authority import Authority
from tracker.access.client_address import ClientAddress
from tracker.access.invitations import Invitations
from tracker.access.joining import Joining
from tracker.access.members import Members
from tracker.access.membership import Membership
from tracker.access.open_answers import OpenAnswers
from tracker.access.own_second_factor import OwnSecondFactor
from tracker.access.own_sessions import OwnSessions
from tracker.access.passwords import Passwords
from tracker.access.people import People
from tracker.access.rate_limit import RateLimiter
from tracker.access.sessions import Sessions
from tracker.access.sign_in import SignIn
from tracker.access.sign_in_limit import SignInLimit
from tracker.access.time_zones import TimeZones
from tracker.clicks.redirect import Redirect
from tracker.clicks.store import Clicks
from tracker.conversions.event_config import EventConfigs
from tracker.conversions.event_ids import EventIds
from tracker.conversions.record import Recorder
from tracker.conversions.rules import AccountRules
from tracker.db.connect import Database
from tracker.db.reader import Reader
from tracker.dns.resolver import HostResolver
from tracker.feeds.clicks import StoredClick
from tracker.feeds.conversions import ConversionFeed
from tracker.feeds.feed import Feed
from tracker.http.access_log import AccessLog
from tracker.journal.backlog import Backlog
from tracker.journal.stream import Journal
from tracker.limits.account_limiter import AccountLimiter
from tracker.limits.pacing import Pacing
from tracker.limits.running_exports import RunningExports
from tracker.links.counts import LinkCounts
from tracker.links.domains import Domains
from tracker.links.own_hosts import OwnHosts
from tracker.links.public_url import PublicUrl
from tracker.links.qr_code import QrCodes
from tracker.links.store import Links
from tracker.links.tags import Tags
from tracker.live.hub import LiveHub
from tracker.loops import Loops
from tracker.reports.run import Reports
from tracker.sharing.opens import ShareOpens
from tracker.sharing.shares import Shares
from tracker.sharing.views import Views
from tracker.webhooks.client import Client
from tracker.webhooks.deliveries import Deliveries
from tracker.webhooks.store import Webhooks


class Services(Protocol):
    """The long-lived objects of a process that endpoints use."""

    settings: Settings
    public_url: PublicUrl
    serves: bool
    is_stopping: bool
    prepared: asyncio.Event
    loops: Loops
    access_log: AccessLog
    redis: Redis
    database: Database
    reader: Reader
    accounts: Accounts
    time_zones: TimeZones
    api_keys: ApiKeys
    audit: Audit
    members: Members
    invitations: Invitations
    authority: Authority
    membership: Membership
    joining: Joining
    people: People
    passwords: Passwords
    sessions: Sessions
    open_answers: OpenAnswers
    sign_in_limit: SignInLimit
    sign_in: SignIn
    own_sessions: OwnSessions
    own_second_factor: OwnSecondFactor
    client_address: ClientAddress
    rate_limiter: RateLimiter
    pacing: Pacing
    exports: RunningExports
    live: LiveHub
    shares: Shares
    share_opens: ShareOpens
    views: Views
    shared_limiter: AccountLimiter
    links: Links
    link_counts: LinkCounts
    qr_codes: QrCodes
    qr_limiter: AccountLimiter
    tags: Tags
    domains: Domains
    own_hosts: OwnHosts
    dns: HostResolver
    dns_limiter: AccountLimiter
    backlog: Backlog
    journal: Journal
    redirect: Redirect
    clicks: Clicks
    event_configs: EventConfigs
    event_ids: EventIds
    account_rules: AccountRules
    recorder: Recorder
    click_feed: Feed[StoredClick]
    conversion_feed: ConversionFeed
    reports: Reports
    webhooks: Webhooks
    deliveries: Deliveries
    sample_limiter: AccountLimiter

    @property
    def webhook_client(self) -> Client:
        """Return the client that sends requests to receivers."""
