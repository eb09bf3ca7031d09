"""The rooms of a process. Making them opens no connection: clients connect at their first use."""

import asyncio
import contextlib
from typing import Any, Final

import structlog
from pymongo.errors import PyMongoError

from config.settings import Settings
from tracker.access import services as access
from tracker.accounts import services as accounts
from tracker.alerts import services as alerts
from tracker.clicks import services as clicks
from tracker.conversions import services as conversions
from tracker.conversions.event_config import names_of_event_configs
from tracker.costs import services as costs
from tracker.feeds import services as feeds
from tracker.http.access_log import AccessLog
from tracker.imports import services as imports
from tracker.imports.sources import SOURCES
from tracker.ingest.services import IngestServices
from tracker.journal import services as journal
from tracker.limits.allowance import Allowance
from tracker.limits.pacing import Pacing
from tracker.limits.permits import Permits
from tracker.limits.running_exports import RunningExports
from tracker.links import services as links
from tracker.links.cache import names_of_domains, names_of_links
from tracker.live import services as live
from tracker.loops import Loops
from tracker.public_url import PublicUrl
from tracker.reports import services as reports
from tracker.sharing import services as sharing
from tracker.stores import services as stores
from tracker.stores.cache.cache import Cache
from tracker.stores.cache.changes import Changes
from tracker.stores.cache.eviction import CopyEviction
from tracker.stores.cache.filling import CopyFiller
from tracker.stores.mongodb import indexes, retention
from tracker.stores.startup import checks
from tracker.stores.startup.diagnosis import StoreUnavailable, UnusableStore
from tracker.uploads import services as uploads
from tracker.web.limits import LARGE_BODIES, LARGE_BODY_SECONDS
from tracker.web.services import WebServices
from tracker.webhooks import services as webhooks

log = structlog.get_logger(__name__)

PREPARE_INTERVAL_SECONDS: Final = 0.5


class Services:
    """The rooms of a process. `settings` need `base_url` and both store addresses."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.public_url = PublicUrl(settings.base_url)
        self.serves = True
        """False in a process that only drains."""
        self.is_stopping = False
        """True in a process that was told to stop, and still serves until balancers know."""
        # Set once MongoDB has every index. Nothing is written to it before.
        self.prepared = asyncio.Event()
        self._build_foundation(settings)
        self._build_traffic(settings)
        self._build_accounts(settings)
        self._build_work(settings)
        self.caches: dict[str, Cache[Any]] = {
            "link": self.links.link_cache,
            "link_name": self.links.link_names,
            "domain": self.links.domain_cache,
            "event_config": self.conversions.event_config_cache,
            "account": self.conversions.rules_cache,
            "origins": self.clicks.origins_cache,
        }
        self.changes = Changes(
            self.stores.redis_blocking, {**self.caches, "api_key": self.access.api_keys.valid}
        )
        self.copy_filler = CopyFiller(
            self.stores.redis,
            self.stores.mongodb.reads,
            self.stores.budget,
            [
                names_of_links(self.links.link_cache),
                names_of_domains(self.links.domain_cache),
                names_of_event_configs(self.conversions.event_config_cache),
            ],
        )
        self.copy_eviction = CopyEviction(self.stores.redis, self.stores.budget, [*self.caches])
        self.loops = Loops()

    def _build_foundation(self, settings: Settings) -> None:
        self.stores = stores.build(
            redis_url=settings.redis_url,
            mongodb_uri=settings.mongodb_uri,
            mongodb_database=settings.mongodb_database,
            partitions=settings.journal_partitions,
        )
        self.journal = journal.build(
            stores=self.stores,
            partitions=settings.journal_partitions,
            replicas=settings.journal_replicas,
            spool=settings.data_path / "spool",
            spool_max_bytes=settings.spool_max_bytes,
            redis_memory_bytes=settings.redis_memory_bytes,
        )
        self.access = access.build(
            stores=self.stores,
            trusted_proxies=settings.trusted_proxies,
            per_minute=settings.rate_limit_ip_per_minute,
            per_hour=settings.rate_limit_account_per_hour,
            ipv6_prefix=settings.rate_limit_ipv6_prefix,
            session_per_minute=settings.rate_limit_session_per_minute,
            secret_keys=settings.secret_keys,
        )
        self.web = self._web_services(settings)

    def _web_services(self, settings: Settings) -> WebServices:
        return WebServices(
            access_log=AccessLog(settings.access_log),
            answers=self.access.answers,
            api_keys=self.access.api_keys,
            audit=self.access.audit,
            authority=self.access.authority,
            client_address=self.access.client_address,
            country_header=settings.country_header,
            exports=RunningExports(),
            internal_port=settings.internal_port,
            is_production=settings.env == "production",
            large_bodies=Permits("body", "large bodies", LARGE_BODIES, LARGE_BODY_SECONDS),
            mongodb=self.stores.mongodb,
            open_answers=self.access.open_answers,
            pacing=Pacing(),
            public_url=self.public_url,
            rate_limiter=self.access.rate_limiter,
            sessions=self.access.sessions,
        )

    def _build_traffic(self, settings: Settings) -> None:
        """Build what visitors and networks need."""
        stores, public_url = self.stores, self.public_url
        misses = self._allowance(settings.miss_limit_ip_per_minute)
        self.links = links.build(
            stores=stores,
            public_url=public_url,
            port=settings.port,
            cname_host=settings.cname_host,
            reserved_names=settings.reserved_names,
            serves_claimed_domains=settings.serves_claimed_domains,
            link_cache_entries=settings.link_cache_entries,
            misses=misses,
            dns_address=settings.dns_address,
            tell=webhooks.LinkAnnouncer(stores.mongodb, public_url.host).tell,
        )
        self.clicks = clicks.build(
            stores=stores,
            journal=self.journal,
            links=self.links,
            access=self.access,
            public_url=public_url,
            geoip_database=settings.geoip_database,
            store_ip=settings.store_ip,
        )
        self.conversions = conversions.build(
            stores=stores,
            journal=self.journal,
            data_path=settings.data_path,
            misses=misses,
            pending=self._allowance(settings.pending_limit_ip_per_minute),
        )

    def _build_accounts(self, settings: Settings) -> None:
        """Build what people and programs with keys need."""
        stores, public_url = self.stores, self.public_url
        self.accounts = accounts.build(
            stores=stores,
            access=self.access,
            origins=self.clicks.origins,
            conversions=self.conversions,
            links=self.links,
            public_url=public_url,
            secret_keys=settings.secret_keys,
        )
        self.webhooks = webhooks.build(
            stores=stores,
            accounts=self.accounts,
            links=self.links,
            event_configs=self.conversions.event_configs,
            public_url=public_url,
            secret_keys=settings.secret_keys,
            allows_http=settings.http_targets_allowed,
            allows_private=settings.webhook_allow_private,
        )
        self.reports = reports.build(stores=stores, links=self.links, public_url=public_url)
        self.costs = costs.build(stores=stores, links=self.links, reports=self.reports)
        self.feeds = feeds.build(
            stores=stores,
            journal=self.journal,
            accounts=self.accounts,
            clicks=self.clicks,
            conversions=self.conversions,
            links=self.links,
            webhooks=self.webhooks,
            public_url=public_url,
        )
        self.live = live.build(
            stores=stores, journal=self.journal, access=self.access, base_host=public_url.host
        )
        self.sharing = sharing.build(
            stores=stores, accounts=self.accounts, reports=self.reports, public_url=public_url
        )

    def _build_work(self, settings: Settings) -> None:
        """Build what moves the journal into MongoDB, and works on files."""
        self.ingest = self._ingest_services(settings)
        self.imports = self._import_services()
        self.alerts = alerts.build(
            stores=self.stores, journal=self.journal, reports=self.reports, webhooks=self.webhooks
        )
        self.uploads = uploads.build(
            stores=self.stores, conversions=self.conversions, journal=self.journal
        )

    def _import_services(self) -> imports.ImportServices:
        return imports.build(
            stores=self.stores,
            links=self.links,
            webhooks=self.webhooks,
            clicks=self.clicks,
            journal=self.journal,
            sources=SOURCES,
        )

    def _ingest_services(self, settings: Settings) -> IngestServices:
        return IngestServices(
            stores=self.stores,
            journal=self.journal,
            clicks=self.clicks,
            conversions=self.conversions,
            webhooks=self.webhooks,
            pending_days=settings.pending_event_days,
            partitions=settings.journal_partitions,
        )

    def _allowance(self, per_minute: int) -> Allowance:
        return Allowance(per_minute, self.settings.rate_limit_ipv6_prefix)

    async def prepare(self) -> None:
        """Make the indexes of MongoDB. Nothing is written before: unique indexes decide races."""
        await checks.check_mongodb(self.stores.mongodb.client)
        async with checks.mongodb_diagnosed():
            await indexes.ensure(self.stores.mongodb.database)
            await retention.set_click_retention(
                self.stores.mongodb.database, self.settings.click_retention_days
            )
        self.prepared.set()

    async def keep_preparing(self) -> None:
        """Try to prepare MongoDB until that has succeeded. Each reason is logged once."""
        logged = ""
        while not self.prepared.is_set():
            await asyncio.sleep(PREPARE_INTERVAL_SECONDS)
            try:
                await self.prepare()
            except (StoreUnavailable, UnusableStore) as error:
                if str(error) != logged:
                    log.warning("MongoDB cannot be used yet", reason=str(error))
                logged = str(error)

    async def stop(self) -> None:
        """Wait until every append is durable, and store the counts in memory."""
        await self.conversions.recorder.close()
        await self.uploads.worker.close()
        for store in (
            self.sharing.share_opens.store,
            self.conversions.refusals.store,
            self.conversions.repeats.store,
            self.access.api_keys.uses.store,
            self.links.unknown_paths.store,
        ):
            with contextlib.suppress(PyMongoError):
                await store()
        await self.journal.journal.close()
        await self.conversions.event_ids.close()

    async def close(self) -> None:
        self.webhooks.client.close()
        await self.imports.reading.close()
        self.imports.apis.close()
        for cache in self.caches.values():
            await cache.close()
        self.accounts.passwords.close()
        self.links.passwords.close()
        await self.stores.close()
