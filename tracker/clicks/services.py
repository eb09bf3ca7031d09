"""The services that redirect, enrich and count clicks."""

from typing import NamedTuple

from tracker.access.services import AccessServices
from tracker.clicks.country import Countries
from tracker.clicks.enrich import Enrichment
from tracker.clicks.pages.origins import Origins, OriginsCache, origins_cache
from tracker.clicks.pages.recorder import PageClicks
from tracker.clicks.redirects.custom_paths import CustomPaths
from tracker.clicks.redirects.limited import LimitedClicks
from tracker.clicks.redirects.protection import Protection
from tracker.clicks.redirects.redirect import Redirect
from tracker.clicks.store import Clicks
from tracker.clicks.visitors import Visitors
from tracker.journal.services import JournalServices
from tracker.links.services import LinkServices
from tracker.links.store import Links
from tracker.public_url import PublicUrl
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query


class ClickServices(NamedTuple):
    """`redirect`, `paths`, `protection` and `pages` answer visitors. Drains use the rest."""

    links: Links
    redirect: Redirect
    paths: CustomPaths
    protection: Protection
    pages: PageClicks
    origins: Origins
    origins_cache: OriginsCache
    clicks: Clicks
    visitors: Visitors
    enrichment: Enrichment


def build(
    *,
    stores: StoreServices,
    journal: JournalServices,
    links: LinkServices,
    access: AccessServices,
    public_url: PublicUrl,
    geoip_database: str,
    store_ip: bool,
) -> ClickServices:
    enrichment = Enrichment(Countries(geoip_database), store_ip)
    limited = LimitedClicks(journal.journal, links.used_clicks)
    redirect = Redirect(
        links.link_cache, links.domains, journal.journal, enrichment, limited, public_url.host
    )
    visitors, allowed = Visitors(stores.redis, stores.budget), origins_cache(stores)
    origins = Origins(stores.mongodb, allowed)
    return ClickServices(
        links=links.links,
        redirect=redirect,
        paths=CustomPaths(
            redirect,
            links.link_cache,
            links.domains,
            links.unknown_paths,
            enrichment,
            public_url.host,
        ),
        protection=Protection(links.links, links.passwords, access.rate_limiter),
        pages=PageClicks(redirect, limited, links, origins, visitors, journal.journal, stores),
        origins=origins,
        origins_cache=allowed,
        clicks=Clicks(stores.mongodb),
        visitors=visitors,
        enrichment=enrichment,
    )


ClickCall = Call[ClickServices, Query, Body]
