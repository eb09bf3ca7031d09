"""The scene of a run: the account, links and event configurations that its load uses."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

from msgspec import structs

from config.settings import Settings
from tracker.clock import now
from tracker.conversions.event_config import PayoutType
from tracker.ids import new_id
from tracker.links.domain import Domain
from tracker.links.link import NewLink
from tracker.links.rules.rule import Condition, QueryMatch, Rule, Split, TimeMatch, Variant
from tracker.service.services import Services
from tracker.stores.mongodb import indexes

FAULT_LINKS: Final = 3
"""Links on the default domain; one more is on the custom domain."""

LIMIT: Final = 300  # clicks of a further link, which leads elsewhere after them

WEBHOOKS: Final = 2

PAGE_ORIGIN: Final = "https://shop.test"
"""Of pages that report clicks."""

_LINKS_PER_INSERT: Final = 250
_DOMAIN: Final = "go.chaos.test"
_TEMPLATE: Final = {"event": "{event_id}", "all": "{metadata}", "link": "{slug}"}

Deciding = Literal["", "rules", "split"]
"""What the links of a load have: nothing, ten rules, or a split of two variants."""


class Place(NamedTuple):
    """A link as visitors open it; `host` is empty on the default domain."""

    slug: str
    host: str = ""
    start: str = "/c/"


class Scene(NamedTuple):
    """An account with its links, `limited` with LIMIT; `paths` has those of its webhooks, by id."""

    account_id: UUID
    key: str
    places: list[Place]
    pbks: list[str]
    paths: dict[UUID, str]
    limited: UUID = UUID(int=0)


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    services = Services(structs.replace(settings, base_url=settings.base_url or "http://localhost"))
    try:
        await indexes.ensure(services.stores.mongodb.database)
        yield services
    finally:
        await services.close()


async def add_account(services: Services, name: str) -> tuple[UUID, str]:
    account = await services.accounts.accounts.create(name)
    _, key = await services.access.api_keys.create(account.id, name)
    return account.id, key


def new_link(
    account_id: UUID,
    slug: str,
    destination_url: str,
    domain: Domain | None = None,
    tags: Sequence[UUID] = (),
    **options: Any,
) -> NewLink:
    return NewLink(
        **options,
        account_id=account_id,
        destination_url=destination_url,
        internal_name=slug,
        slug=slug,
        domain_id=domain.id if domain else None,
        domain_name=domain.domain_name if domain else "",
        tags=list(tags),
    )


def destination_of(slug: str) -> str:
    return f"https://shop.test/landing/{slug}?campaign=spring"


async def prepare_load(
    settings: Settings, links: int, host: str = "", decides: Deciding = ""
) -> Scene:
    """Make an account, links at a host (a single one with window and limit), and a config."""
    async with open_services(settings) as services:
        account_id, key = await add_account(services, "Load")
        await services.clicks.origins.change(account_id, [PAGE_ORIGIN])
        create = services.conversions.event_configs.create
        config = await create(account_id, "Sale", PayoutType.CPA, Decimal(5))
        slugs = [f"load{links}{decides}-{number}" for number in range(links)]
        domain = await services.links.domains.create(account_id, host) if host else None
        if domain is not None:
            await services.links.domains.verify(domain.id)
        ends: Any = {"expires_at": now() + timedelta(1), "max_clicks": 10**9} if links == 1 else {}
        new = [
            new_link(account_id, slug, destination_of(slug), domain, **ends, **_options(decides))
            for slug in slugs
        ]
        for first in range(0, links, _LINKS_PER_INSERT):
            await services.links.links.create_all(new[first : first + _LINKS_PER_INSERT])
        places = [Place(slug, host, "/" if host else "/c/") for slug in slugs]
        return Scene(account_id, key, places, [config.pbk], {})


def _options(decides: Deciding) -> dict[str, Any]:
    """Return ten rules, of which hardly any holds, or a split, or nothing."""
    if decides == "split":
        variants = [
            Variant(id=new_id(), name=name, destination_url=destination_of(name), weight=1)
            for name in "ab"
        ]
        return {"split": Split(variants=variants, secret="00" * 16)}
    conditions = _TEN if decides == "rules" else ()
    return {
        "rules": [
            Rule(id=new_id(), name="x", conditions=[one], destination_url=destination_of("x"))
            for one in conditions
        ]
    }


_TEN: Final = (
    Condition(country=["JP"]),
    Condition(query=QueryMatch(key="coupon")),
    Condition(device=["tv"]),
    Condition(os=["Roku"]),
    Condition(browser=["Vivaldi"]),
    Condition(language=["pt-BR"]),
    Condition(referrer=["shop.test"]),
    Condition(ip=["192.0.2.0/24", "2001:db8::/32"]),
    Condition(query=QueryMatch(key="src", values=["mail"])),
    Condition(time=TimeMatch(zone="Europe/Berlin", weekdays=[1], from_="03:00", to="03:01")),
)


async def prepare_faults(settings: Settings, receiver_url: str) -> Scene:
    """Make the scene of `lab.chaos`: links on two domains, two configurations, two webhooks."""
    async with open_services(settings) as services:
        account_id, key = await add_account(services, "Chaos")
        places, limited = await _add_links(services, account_id)
        create = services.conversions.event_configs.create
        configs = [
            await create(account_id, "Order", PayoutType.CPA, Decimal("7.5")),
            await create(account_id, "Sale", PayoutType.REV_SHARE, Decimal(12)),
        ]
        paths = {}
        for path in (f"/{number}" for number in range(WEBHOOKS)):
            given = account_id, "Chaos", f"{receiver_url}{path}", "POST", _TEMPLATE
            paths[(await services.webhooks.webhooks.create(*given)).id] = path
        return Scene(account_id, key, places, [config.pbk for config in configs], paths, limited)


async def _add_links(services: Services, account_id: UUID) -> tuple[list[Place], UUID]:
    destination_url = "https://shop.test/landing?c={country}"
    domain = await services.links.domains.create(account_id, _DOMAIN)
    places = [Place(f"chaos{number}") for number in range(FAULT_LINKS)]
    for place in places:
        await services.links.links.create(new_link(account_id, place.slug, destination_url))
    await services.links.links.create(new_link(account_id, "chaos", destination_url, domain))
    over = "https://shop.test/over?change=999999999"  # newer than `chaos/link_changes` makes any
    new = new_link(account_id, "limited", destination_url, max_clicks=LIMIT, expired_url=over)
    limited = (await services.links.links.create(new)).id
    return [*places, Place("chaos", _DOMAIN), Place("limited")], limited
