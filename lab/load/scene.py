"""What a load finds: an account with a key, links, and an event configuration."""

from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from config.settings import Settings
from tracker.conversions.event_config import PayoutType
from tracker.db import indexes
from tracker.links.store import NewLink
from tracker.service.services import Services

_AT_ONCE = 250


class Scene(NamedTuple):
    """`key` is an API key of the account, `pbk` a postback key."""

    account_id: UUID
    key: str
    slugs: list[str]
    pbk: str


async def prepare(settings: Settings, links: int) -> Scene:
    """Make it, in stores that answer."""
    services = Services(settings)
    try:
        await indexes.ensure(services.database)
        return await _make(services, links)
    finally:
        await services.close()


async def _make(services: Services, links: int) -> Scene:
    account = await services.accounts.create("Load")
    _, key = await services.api_keys.create(account.id, "Load")
    config = await services.event_configs.create(account.id, "Sale", PayoutType.CPA, Decimal(5))
    new = [_link(account.id, f"load{number}") for number in range(links)]
    for first in range(0, links, _AT_ONCE):
        await services.links.create_all(new[first : first + _AT_ONCE])
    return Scene(account.id, key, [link.slug for link in new if link.slug], config.pbk)


def _link(account_id: UUID, slug: str) -> NewLink:
    return NewLink(
        account_id=account_id,
        destination_url=f"https://shop.test/landing/{slug}?campaign=spring",
        internal_name=slug,
        slug=slug,
        domain_id=None,
        domain_name="",
        tags=[],
    )
