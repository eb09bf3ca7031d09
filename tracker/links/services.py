"""Short links with their tags and domains, for endpoints and for redirects."""

from collections.abc import Collection
from typing import NamedTuple

from tracker.access.passwords import Passwords
from tracker.dns.resolver import LOOKUP_SECONDS
from tracker.limits.account_limiter import AccountLimiter
from tracker.limits.allowance import Allowance
from tracker.limits.permits import PermitLimits, Permits
from tracker.links.cache import (
    DomainCache,
    LinkCache,
    LinkNameCache,
    domain_cache,
    link_cache,
    link_name_cache,
)
from tracker.links.domains import Domains
from tracker.links.link import Tell
from tracker.links.lists.link_lists import LinkLists
from tracker.links.names.folding import Folding
from tracker.links.own_hosts import OwnHosts, ServedHosts
from tracker.links.qr_code import QrCodes
from tracker.links.rules.versions import LinkRules
from tracker.links.site.unknown_paths import UnknownPaths
from tracker.links.store import Links
from tracker.links.tags import Tags
from tracker.links.used_clicks import UsedClicks
from tracker.public_url import PublicUrl
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query

_DOMAIN_CACHE_ENTRIES = 10_000
_LOOK_UPS = 10, 64
"""Concurrent requests that wait for DNS: of an account (up to ten webhooks), and of the process."""

_QR_CODES = 10, 64
"""Concurrent requests for QR codes: of an account, and of the process."""

_LONG_LISTS = PermitLimits(2, 4, 25, 100)
"""Lists whose links are searched for or counted. Four keep two cores of MongoDB busy."""

_LONG_LISTS_SECONDS = 10


class LinkServices(NamedTuple):
    """The stores of links, tags and domains, and their caches."""

    links: Links
    passwords: Passwords
    rules: LinkRules
    lists: LinkLists
    long_lists: Permits
    tags: Tags
    domains: Domains
    unknown_paths: UnknownPaths
    own_hosts: OwnHosts
    served_hosts: ServedHosts
    used_clicks: UsedClicks
    folding: Folding
    link_cache: LinkCache
    domain_cache: DomainCache
    link_names: LinkNameCache
    qr_codes: QrCodes
    qr_limiter: AccountLimiter
    dns_limiter: AccountLimiter
    dns_address: tuple[str, int] | None
    public_url: PublicUrl


def build(
    *,
    stores: StoreServices,
    public_url: PublicUrl,
    port: int,
    cname_host: str,
    reserved_names: Collection[str],
    serves_claimed_domains: bool,
    link_cache_entries: int,
    misses: Allowance,
    dns_address: tuple[str, int] | None,
    tell: Tell,
) -> LinkServices:
    """Build the links' services. `misses` limits look-ups of unknown names in MongoDB."""
    own_hosts = OwnHosts(public_url.host, public_url.port, port, cname_host, reserved_names)
    links = link_cache(stores, link_cache_entries, misses)
    names = domain_cache(stores, _DOMAIN_CACHE_ENTRIES, misses, own_hosts.is_reserved)
    domains = Domains(stores.mongodb, names, serves_claimed_domains, own_hosts.is_reserved)
    return LinkServices(
        links=Links(stores.mongodb, links, tell),
        passwords=Passwords(threads=1),  # 32 a second; a flood leaves the other cores to clicks
        rules=LinkRules(stores.mongodb),
        lists=LinkLists(stores.mongodb),
        long_lists=Permits("links", "long lists", _LONG_LISTS, _LONG_LISTS_SECONDS),
        tags=Tags(stores.mongodb),
        domains=domains,
        unknown_paths=UnknownPaths(stores.mongodb, misses),
        own_hosts=own_hosts,
        served_hosts=ServedHosts(own_hosts, domains),
        used_clicks=UsedClicks(stores.mongodb),
        folding=Folding(stores.mongodb),
        link_cache=links,
        domain_cache=names,
        link_names=link_name_cache(stores, misses),
        qr_codes=QrCodes(),
        qr_limiter=AccountLimiter("QR", "codes", *_QR_CODES, seconds=1),
        dns_limiter=AccountLimiter("DNS", "look-ups", *_LOOK_UPS, seconds=LOOKUP_SECONDS),
        dns_address=dns_address,
        public_url=public_url,
    )


LinkCall = Call[LinkServices, Query, Body]
