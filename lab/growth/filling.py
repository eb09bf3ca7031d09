"""The accounts that are measured, filled by the product itself."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import orjson
from msgspec.structs import replace

from config.settings import Settings
from lab.requests import head, post
from lab.scene import add_account, destination_of, new_link, open_services
from scripts.progress import Progress
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.links.link import NewLink
from tracker.service.services import Services
from tracker.web.limits import MAX_BULK_LINKS

TAGS: Final = 20
INACTIVE_SHARE: Final = 50
"""One of so many links is inactive."""

_AT_ONCE: Final = 50
_BULKS_AT_ONCE: Final = 4
_PRIME: Final = 104_729
"""Names are in another order than the links."""

Item = TypeVar("Item")
Made = TypeVar("Made")


class FilledAccount(NamedTuple):
    """An account with active and inactive links; most of them have two of its tags."""

    id: UUID
    key: str
    prefix: str
    link_ids: Sequence[UUID]
    tags: Sequence[UUID]

    @property
    def links(self) -> int:
        return len(self.link_ids)

    def slug(self, number: int) -> str:
        return f"{self.prefix}-{number}"

    def active(self) -> list[int]:
        return [number for number in range(self.links) if _is_active(number)]

    def get(self, path: str, accept: str = "application/json") -> bytes:
        headers = {"Authorization": f"Bearer {self.key}", "Accept": accept}
        return head("GET", f"{path}&accountId={self.id}", headers)

    def post(self, path: str, body: Mapping[str, Any]) -> bytes:
        content = orjson.dumps({"accountId": str(self.id), **body})
        headers = {"Authorization": f"Bearer {self.key}"}
        return post(path, "application/json", content, headers)

    def report(self, first: date, last: date, asked: Mapping[str, Any]) -> bytes:
        path = "/api/reports/overview" if "panels" in asked else "/api/reports"
        return self.post(path, {"dateRange": {"from": f"{first}", "to": f"{last}"}, **asked})


class Filling:
    """The accounts with links, filled once for all directions."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._accounts: dict[int, FilledAccount] = {}

    async def account(self, links: int) -> FilledAccount:
        if links not in self._accounts:
            async with open_services(self.settings) as services:
                self._accounts[links] = await _fill(services, links)
        return self._accounts[links]


async def _fill(services: Services, links: int) -> FilledAccount:
    account_id, key = await add_account(services, f"{links} links")
    tags = [(await services.links.tags.create(account_id, f"tag {one}")).id for one in range(TAGS)]
    account = FilledAccount(account_id, key, f"growth{links}", [], tags)
    ids = await create_links(services, links, partial(_link, account))
    return account._replace(link_ids=ids)


def _link(account: FilledAccount, number: int) -> NewLink:
    slug = account.slug(number)
    tags = [account.tags[one] for one in {number % TAGS, number // TAGS % TAGS}]
    made = new_link(account.id, slug, destination_of(slug), tags=tags)
    name = f"Offer {number * _PRIME % 1_000_003}"
    return replace(made, internal_name=name, active=_is_active(number))


def _is_active(number: int) -> bool:
    return number % INACTIVE_SHARE != INACTIVE_SHARE - 1


async def create_links(
    services: Services, number: int, link_of: Callable[[int], NewLink]
) -> list[UUID]:
    """Create links as the API does in bulk; return their ids in the order of their numbers."""

    async def create(numbers: range) -> list[UUID]:
        links = await services.links.links.create_all(list(map(link_of, numbers)))
        return [link.id for link in links]

    bulks = [
        range(first, min(first + MAX_BULK_LINKS, number))
        for first in range(0, number, MAX_BULK_LINKS)
    ]
    made = await made_together("creating links by the hundred", bulks, create, _BULKS_AT_ONCE)
    return [link_id for ids in made for link_id in ids]


async def create_accounts(services: Services, number: int) -> list[EventConfig]:

    async def create(name: str) -> EventConfig:
        account = await services.accounts.accounts.create(name)
        return await services.conversions.event_configs.create(
            account.id, "Sale", PayoutType.CPA, Decimal(5)
        )

    names = [f"account {one}" for one in range(number)]
    return await made_together("creating accounts", names, create)


async def made_together(
    title: str,
    items: Sequence[Item],
    make: Callable[[Item], Awaitable[Made]],
    at_once: int = _AT_ONCE,
) -> list[Made]:
    made: list[Made] = []
    with Progress(title, len(items)) as progress:
        for first in range(0, len(items), at_once):
            group = items[first : first + at_once]
            made += await asyncio.gather(*map(make, group))
            progress.advance(len(group))
    return made
