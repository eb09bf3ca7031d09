"""The long-lived objects of a process, and the start and stop of its loops.

Construction has no effect beyond memory: clients connect when they are first used.
"""

import asyncio
import contextlib
from functools import cached_property

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
from tracker.access.second_factor import SecondFactor
from tracker.access.sessions import Sessions
from tracker.access.sign_in import SignIn
from tracker.access.sign_in_limit import SignInLimit
from tracker.access.time_zones import TimeZones
from tracker.clicks.country import Countries
from tracker.clicks.enrich import Enrichment
from tracker.clicks.redirect import Redirect
from tracker.clicks.store import Clicks
from tracker.clicks.visitors import Visitors
from tracker.conversions.append import AppendOnce
from tracker.conversions.caps import Caps
from tracker.conversions.event_config import EventConfigs, event_config_cache
from tracker.conversions.event_ids import EventIds, SpareBlock
from tracker.conversions.look_ups import LookUps
from tracker.conversions.record import Recorder
from tracker.conversions.rules import AccountRules, rules_cache
from tracker.conversions.store import Events
from tracker.db import check, connect, indexes, retention
from tracker.db.breaker import Breaker
from tracker.db.budget import Budget, BudgetMeter
from tracker.db.changes import Changes
from tracker.db.connect import PyMongoError
from tracker.db.reader import Reader
from tracker.db.secret_box import Purpose, SecretBox
from tracker.dns.resolver import LOOKUP_SECONDS, HostResolver
from tracker.feeds.clicks import CLICKS, StoredClick
from tracker.feeds.conversions import ConversionFeed
from tracker.feeds.feed import Feed
from tracker.http.access_log import AccessLog
from tracker.ingest.drain import Drain
from tracker.ingest.joint_counting import JointCounting
from tracker.ingest.slot import Slot
from tracker.ingest.time_zone_change import TimeZoneChanger
from tracker.journal.backlog import Backlog
from tracker.journal.dead_letters import streams_of_letters
from tracker.journal.overflow import keep_deciding
from tracker.journal.spool import Spool
from tracker.journal.stream import Journal
from tracker.limits.account_limiter import AccountLimiter
from tracker.limits.allowance import Allowance
from tracker.limits.pacing import Pacing
from tracker.limits.running_exports import RunningExports
from tracker.links.cache import link_cache
from tracker.links.counts import LinkCounts
from tracker.links.domain_cache import domain_cache
from tracker.links.domains import Domains
from tracker.links.own_hosts import OwnHosts
from tracker.links.public_url import PublicUrl
from tracker.links.qr_code import QrCodes
from tracker.links.store import Links
from tracker.links.tags import Tags
from tracker.live.hub import LiveHub
from tracker.live.publisher import Publisher
from tracker.loops import Loops, cancel_and_wait
from tracker.reports.run import Reports
from tracker.sharing.opens import ShareOpens
from tracker.sharing.shares import Shares
from tracker.sharing.views import Views
from tracker.webhooks.client import Client
from tracker.webhooks.deliveries import Deliveries
from tracker.webhooks.payload_sources import PayloadLoader
from tracker.webhooks.sample import sample_limiter
from tracker.webhooks.sender import Sender
from tracker.webhooks.store import Webhooks

_CONNECTIONS_PER_PARTITION = 3
"""Connections to Redis that a partition of the journal keeps at most: to append, to replay, and to
append what another server of a cluster should have."""

_OTHER_CACHE_ENTRIES = 10_000
_LOOK_UPS_PER_ACCOUNT, _LOOK_UPS_PER_PROCESS = 10, 64
"""Concurrent API requests that wait for DNS. An account may have ten webhooks."""

_QR_CODES = 10, 64
"""Concurrent requests for QR codes: of an account, and of the process."""


_SHARED_REPORTS = 4, 16
"""Reports of public links that are read at once: of an account, and of the process."""


class Services:
    """The long-lived objects of a process. `settings` need `base_url` and both store addresses."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.public_url = PublicUrl(settings.base_url)
        self.access_log = AccessLog(settings.access_log)
        self.serves = True
        """True in a process that answers visitors and postbacks, False in one that only drains."""
        self.is_stopping = False
        """True in a process that was told to stop, and still serves until balancers know."""
        # Set once MongoDB has every index. Nothing is written to it before.
        self.prepared = asyncio.Event()
        generation = connect.Generation()
        dedicated = _CONNECTIONS_PER_PARTITION * settings.journal_partitions
        self.redis = connect.redis_for_requests(settings.redis_url, generation, dedicated)
        self.redis_waiting = connect.redis_for_waiting(settings.redis_url, generation)
        self.mongodb = connect.mongodb(settings.mongodb_uri)
        self.database = self.mongodb[settings.mongodb_database]
        self._look_up_client = connect.mongodb_for_look_ups(settings.mongodb_uri)
        self.look_up_database = self._look_up_client[settings.mongodb_database]
        self.reader = Reader(self.look_up_database)
        self._build_access()
        self._build_links()
        self._build_clicks()
        self._build_conversions()
        self.changes = Changes(
            self.redis_waiting,
            {
                "link": self.link_cache,
                "domain": self.domain_cache,
                "event_config": self.pbk_cache,
                "account": self.rules_cache,
                "api_key": self.api_keys.valid,
            },
        )
        self.loops = Loops()
        self._serving: list[asyncio.Task[None]] = []

    def _build_access(self) -> None:
        self.breaker = Breaker()
        self.budget = Budget()
        self.backlog = Backlog(self.redis, self.settings.journal_partitions)
        self.budget_meter = BudgetMeter(
            self.redis,
            self.budget,
            self.settings.redis_memory_bytes,
            [*self.backlog.streams, *streams_of_letters(self.redis)],
        )
        limits = (
            self.settings.rate_limit_ip_per_minute,
            self.settings.rate_limit_account_per_hour,
            self.settings.rate_limit_ipv6_prefix,
            self.budget,
            self.settings.rate_limit_session_per_minute,
        )
        self.rate_limiter = RateLimiter(self.redis, self.breaker, *limits)
        self.pacing = Pacing()
        self.exports = RunningExports()
        self.accounts = Accounts(self.database)
        self.time_zones = TimeZones(self.database, self.reader)
        self.invitations = Invitations(self.database, self.look_up_database)
        self.authority = Authority(self.database)
        self.api_keys = ApiKeys(self.database, self.look_up_database, self.redis, self.invitations)
        self.audit = Audit(self.database, self.look_up_database)
        self.people = People(self.database, self.invitations)
        self.members = Members(self.database, self.look_up_database, self.invitations)
        self.membership = Membership(
            self.database,
            self.people,
            self.members,
            self.invitations,
            self.authority,
            self.audit,
        )
        self.passwords = Passwords()
        self.sessions = Sessions(self.database)
        self.open_answers = OpenAnswers(self.sessions, self.api_keys)
        self.sign_in_limit = SignInLimit(self.rate_limiter)
        totp_box = SecretBox(self.settings.secret_keys, Purpose.TOTP)
        self.second_factor = SecondFactor(
            self.database, self.people, self.members, self.audit, totp_box
        )
        self.sign_in = SignIn(
            self.database,
            self.people,
            self.members,
            self.passwords,
            self.sessions,
            self.sign_in_limit,
            self.second_factor,
            self.audit,
        )
        self.joining = Joining(
            self.database,
            self.accounts,
            self.people,
            self.members,
            self.invitations,
            self.authority,
            self.passwords,
            self.sessions,
            self.sign_in,
            self.sign_in_limit,
            self.audit,
        )
        self.own_sessions = OwnSessions(
            self.database,
            self.people,
            self.members,
            self.passwords,
            self.sessions,
            self.sign_in,
            self.audit,
        )
        self.own_second_factor = OwnSecondFactor(
            self.database,
            self.people,
            self.sign_in,
            self.own_sessions,
            self.second_factor,
            totp_box,
            self.public_url.host,
        )
        self.client_address = ClientAddress(self.settings.trusted_proxies)
        stores = (self.database, self.redis, self.redis_waiting)
        self.live = LiveHub(*stores, self.open_answers, self.public_url.host, backlog=self.backlog)

    def _build_links(self) -> None:
        stores = (self.redis, self.breaker, self.look_up_database)
        bounds = (self._allowance(self.settings.miss_limit_ip_per_minute), self.budget)
        self.link_cache = link_cache(*stores, self.settings.link_cache_entries, *bounds)
        self.domain_cache = domain_cache(*stores, _OTHER_CACHE_ENTRIES, *bounds, self._reserves)
        self.pbk_cache = event_config_cache(*stores, _OTHER_CACHE_ENTRIES, *bounds)
        self.rules_cache = rules_cache(*stores, _OTHER_CACHE_ENTRIES, self.budget)
        self.links = Links(self.database, self.look_up_database, self.link_cache)
        self.link_counts = LinkCounts(self.reader)
        self.qr_codes = QrCodes()
        self.qr_limiter = AccountLimiter("QR", "codes", *_QR_CODES, seconds=1)
        self.domains = Domains(
            self.database,
            self.look_up_database,
            self.domain_cache,
            self.settings.serves_claimed_domains,
            self._reserves,
        )
        self.tags = Tags(self.database, self.look_up_database)
        self.own_hosts = OwnHosts(
            self.public_url.host,
            self.public_url.port,
            self.settings.port,
            self.domains,
            self.settings.cname_host,
            self.settings.reserved_names,
        )
        self.dns = HostResolver(self.settings.dns_address)
        self.dns_limiter = AccountLimiter(
            "DNS", "look-ups", _LOOK_UPS_PER_ACCOUNT, _LOOK_UPS_PER_PROCESS, LOOKUP_SECONDS
        )

    def _reserves(self, name: str) -> bool:
        return self.own_hosts.reserves(name)

    def _allowance(self, per_minute: int) -> Allowance:
        return Allowance(per_minute, self.settings.rate_limit_ipv6_prefix)

    def _build_clicks(self) -> None:
        self.clicks = Clicks(self.database)
        self.visitors = Visitors(self.redis, self.budget)
        self.enrichment = Enrichment(
            Countries(self.settings.geoip_database), self.settings.store_ip
        )
        spool = Spool(self.settings.data_path / "spool", self.settings.spool_max_bytes)
        self.journal = Journal(
            *(self.redis, self.breaker, spool),
            self.settings.journal_partitions,
            self.settings.journal_replicas,
        )
        self.redirect = Redirect(
            self.link_cache, self.domains, self.journal, self.enrichment, self.public_url.host
        )

    def _build_conversions(self) -> None:
        self.events = Events(self.database)
        self.click_feed: Feed[StoredClick] = Feed(CLICKS, self.reader, self.public_url.host)
        self.conversion_feed = ConversionFeed(self.reader, self.public_url.host)
        self.event_configs = EventConfigs(self.database, self.look_up_database, self.pbk_cache)
        self.account_rules = AccountRules(self.database, self.rules_cache)
        self.secret_box = SecretBox(self.settings.secret_keys, Purpose.WEBHOOK)
        self.webhooks = Webhooks(self.database, self.look_up_database, self.secret_box)
        self.deliveries = Deliveries(self.database, self.reader)
        self.sample_limiter = sample_limiter()
        self.reports = Reports(self.database, self.reader, self.public_url.host)
        self.shares = Shares(self.database, self.look_up_database)
        self.share_opens = ShareOpens(self.database)
        self.views = Views(self.database, self.look_up_database)
        self.shared_limiter = AccountLimiter("share", "shared reports", *_SHARED_REPORTS, seconds=2)
        spare = SpareBlock(self.settings.data_path)
        self.event_ids = EventIds(self.database, spare)
        self.look_ups = LookUps(self.look_up_database)
        self.recorder = Recorder(
            self.event_configs,
            self.look_ups,
            self.event_ids,
            self.journal,
            AppendOnce(self.journal, self.events, self.budget, self.look_ups.mongodb),
            self.account_rules,
            Caps(self.redis, self.breaker, self.events, self.budget),
            self._allowance(self.settings.pending_limit_ip_per_minute),
        )

    async def check_redis(self) -> None:
        """Check that Redis can be used.

        Raises UnusableStore if it never can with this URL, StoreUnavailable if it may later.
        """
        await check.check_redis(self.redis, self.settings.redis_url)

    async def check_mongodb(self) -> None:
        """Check that MongoDB can be used.

        Raises UnusableStore if it never can with this URL, StoreUnavailable if it may later.
        """
        await check.check_mongodb(self.mongodb, self.settings.mongodb_uri)

    async def prepare(self) -> None:
        """Make the indexes of MongoDB. Nothing is written before: unique indexes decide races.

        Raises UnusableStore if MongoDB never works with these settings, StoreUnavailable if it may
        later.
        """
        await self.check_mongodb()
        async with check.mongodb_diagnosed(self.settings.mongodb_uri):
            await indexes.ensure(self.database)
            await retention.keep_clicks(self.database, self.settings.click_retention_days)
            await retention.expire_pending(self.database, self.settings.pending_event_days)
        self.prepared.set()

    @cached_property
    def webhook_client(self) -> Client:
        """Return the HTTP client of webhooks, made at first use because it needs an event loop."""
        settings = self.settings
        return Client(settings.webhook_allow_private, settings.dns_address, self.own_hosts)

    def drain(self, slot: Slot) -> Drain:
        """Return a new drain, which counts in `slot`."""
        return Drain(
            self.database,
            self.redis,
            slot,
            self.clicks,
            self.events,
            self.account_rules,
            self.enrichment,
            self.visitors,
            self.deliveries,
            Publisher(self.redis),
            self.settings.pending_event_days,
            self.settings.journal_partitions,
        )

    def joint_counting(self) -> JointCounting:
        """Return a new counter of finished days, for a drain."""
        return JointCounting(self.database, self.reader, self.redis, self.backlog)

    def time_zone_changer(self) -> TimeZoneChanger:
        """Return the part of a drain that changes accounts' time zones."""
        return TimeZoneChanger(self.database, self.reader, self.redis, self.time_zones)

    def sender(self) -> Sender:
        """Return a new sender, with concurrency limits of its own."""
        payloads = PayloadLoader(self.database, self.public_url.host)
        return Sender(self.deliveries, self.webhooks, payloads, self.webhook_client)

    async def start(self) -> None:
        """Start the loops that serving needs. This works while a store is unavailable."""
        await self.event_ids.start()
        self._serving = [
            self.loops.start("changes", self.changes.listen),
            self.loops.start("replay", self.journal.replay),
            self.loops.start(
                "overflow_choice", lambda: keep_deciding(self.journal.overflow, self.backlog)
            ),
            self.loops.start("live_messages", self.live.listen),
            self.loops.start("live_streams", self.live.tick),
            self.loops.start("open_answers", self.open_answers.guard),
            self.loops.start("share_opens", self.share_opens.keep_storing),
        ]

    async def stop(self) -> None:
        """Stop serving: wait until every append is durable and every loop has ended."""
        await self.recorder.close()
        await asyncio.gather(*map(cancel_and_wait, self._serving))
        with contextlib.suppress(PyMongoError):
            await self.share_opens.store()
        await self.journal.close()
        await self.event_ids.close()

    async def close(self) -> None:
        """Close all connections to stores and receivers."""
        if "webhook_client" in vars(self):
            self.webhook_client.close()
        for cache in (self.link_cache, self.domain_cache, self.pbk_cache, self.rules_cache):
            await cache.close()
        self.passwords.close()
        await self.redis.aclose()
        await self.redis_waiting.aclose()
        self.mongodb.close()
        await self.look_ups.close()
        await self._look_up_client.close()
