"""What visitors and senders of events find: links, on a custom domain too, event configs; and
webhooks, that are told of the events."""

from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

from config.settings import Settings
from tracker.conversions.event_config import PayoutType
from tracker.db import indexes
from tracker.links.domain import Domain
from tracker.links.store import NewLink
from tracker.service.services import Services

LINKS: Final = 3
"""On the default domain; one more is on the custom domain."""

WEBHOOKS: Final = 2

_DOMAIN: Final = "go.chaos.test"


class Place(NamedTuple):
    """Where a link is opened. `host` is empty on the default domain."""

    slug: str
    host: str


class Scene(NamedTuple):
    """`key` is an API key of the account; `pbks` are postback keys; `paths` those of the webhooks
    at the receiver."""

    account_id: UUID
    key: str
    places: list[Place]
    pbks: list[str]
    paths: dict[UUID, str]


async def prepare(settings: Settings, receiver_url: str) -> Scene:
    """Make it, in stores that answer."""
    services = Services(settings)
    try:
        await indexes.ensure(services.database)
        return await _make(services, receiver_url)
    finally:
        await services.close()


async def _make(services: Services, receiver_url: str) -> Scene:
    account = await services.accounts.create("Chaos")
    _, key = await services.api_keys.create(account.id, "Chaos")
    domain = await services.domains.create(account.id, _DOMAIN)
    for number in range(LINKS):
        await services.links.create(_link(account.id, f"chaos{number}", None))
    await services.links.create(_link(account.id, "chaos", domain))
    configs = [
        await services.event_configs.create(account.id, "Order", PayoutType.CPA, Decimal("7.5")),
        await services.event_configs.create(account.id, "Sale", PayoutType.REV_SHARE, Decimal(12)),
    ]
    places = [Place(f"chaos{number}", "") for number in range(LINKS)] + [Place("chaos", _DOMAIN)]
    paths = {
        (await _webhook(services, account.id, f"{receiver_url}/{number}")): f"/{number}"
        for number in range(WEBHOOKS)
    }
    return Scene(account.id, key, places, [config.pbk for config in configs], paths)


async def _webhook(services: Services, account_id: UUID, url: str) -> UUID:
    template = {"event": "{event_id}", "all": "{metadata}", "link": "{slug}"}
    return (await services.webhooks.create(account_id, "Chaos", url, "POST", template)).id


def _link(account_id: UUID, slug: str, domain: Domain | None) -> NewLink:
    return NewLink(
        account_id=account_id,
        destination_url="https://shop.test/landing?c={country}",
        internal_name=slug,
        slug=slug,
        domain_id=domain.id if domain else None,
        domain_name=domain.domain_name if domain else "",
        tags=[],
    )
