"""An account as it looks after a month of work, for pictures of the console. Nothing is random.

Everything is stored by the service's own stores and drain, so reports agree with it. Only the times
of links, members, keys and deliveries are set back afterwards.
"""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from tracker.access.accounts import Account
from tracker.access.audit import Change, Target
from tracker.access.members import Member
from tracker.access.principal import Actor, ActorKind
from tracker.access.roles import Role
from tracker.clicks.click import Click
from tracker.clock import now
from tracker.conversions.event import Event
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.ids import new_click_id
from tracker.ingest.slot import Slot
from tracker.links.link import Link
from tracker.links.store import NewLink
from tracker.service.services import Services

DAYS: Final = 30
CLICKS: Final = 4_000
CONVERSION_RATE: Final = 0.035
SEED: Final = 7

PEOPLE: Final = (
    ("Ada Lindgren", "ada@acme.example", Role.OWNER),
    ("Noor Haddad", "noor@acme.example", Role.EDITOR),
    ("Tomás Silva", "tomas@acme.example", Role.VIEWER),
)
TAGS: Final = ("Spring sale", "Newsletter", "Partners", "Podcast", "Retargeting")
LINKS: Final = (
    ("Spring sale, home page", "spring", "https://shop.acme.example/sale?utm_source=site", 0),
    ("Spring sale, newsletter", "spring-mail", "https://shop.acme.example/sale?utm_source=mail", 0),
    ("Newsletter 46", "nl46", "https://shop.acme.example/new?utm_source=newsletter", 1),
    ("Newsletter 45", "nl45", "https://shop.acme.example/new?utm_source=newsletter", 1),
    ("Running shoes, review", "shoes", "https://shop.acme.example/shoes/trail-9", 2),
    ("Partner: Nordic Outdoor", "nordic", "https://shop.acme.example/?partner=nordic", 2),
    ("Partner: Trail Club", "trailclub", "https://shop.acme.example/?partner=trailclub", 2),
    ("Podcast, episode 12", "pod12", "https://shop.acme.example/podcast?code=POD12", 3),
    ("Podcast, episode 11", "pod11", "https://shop.acme.example/podcast?code=POD11", 3),
    ("Cart reminder", "cart", "https://shop.acme.example/cart?utm_campaign=reminder", 4),
    ("App download", "app", "https://acme.example/app?c={country}", 4),
    ("Gift cards", "gifts", "https://shop.acme.example/gift-cards", 0),
)
BROWSERS: Final = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Googlebot/2.1 (+http://www.google.com/bot.html)",
)
COUNTRIES: Final = ("DE", "SE", "US", "FR", "NL", "BR", "JP")
TARGET: Final = "https://hooks.acme.example/tracker"


class SampleAccount:
    """The maker of the account; `link`, `webhook` and `event_id` are what pictures show."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._random = random.Random(SEED)  # noqa: S311
        self._now = now()
        self.event_id = 0

    async def make(self) -> None:
        """Store the whole account."""
        self.account: Account = await self._services.accounts.create("Acme Outdoor")
        self.members: list[Member] = [await self._member(*one) for one in PEOPLE]
        links = await self._links()
        self.link = links[0]
        configs = await self._event_configs()
        self.webhook = await self._webhooks()
        clicks = self._clicks(links)
        await self._apply(clicks)
        await self._apply(self._events(clicks, configs))
        await self._settings()

    async def _member(self, name: str, email: str, role: Role) -> Member:
        person = await self._services.people.create(email, name, "no password")
        member = await self._services.members.add(self.account.id, person.id, role)
        seen = self._ago(days=role == Role.VIEWER, minutes=12)
        await self._set("members", member.id, created_at=self._ago(days=60), last_seen_at=seen)
        return member

    async def _links(self) -> list[Link]:
        tags = [await self._services.tags.create(self.account.id, name) for name in TAGS]
        links = []
        for number, (name, slug, url, tag) in enumerate(reversed(LINKS)):
            new = NewLink(
                account_id=self.account.id,
                destination_url=url,
                internal_name=name,
                slug=slug,
                domain_id=None,
                domain_name="",
                tags=[tags[tag].id],
                active=slug != "pod11",
            )
            link = await self._services.links.create(new)
            made = self._ago(days=3 * (len(LINKS) - number) - 2)
            await self._set("links", link.id, created_at=made)
            links.append(link)
        return links[::-1]

    async def _event_configs(self) -> list[EventConfig]:
        create = self._services.event_configs.create
        return [
            await create(self.account.id, "Sign-up", PayoutType.CPL, Decimal("1.50")),
            await create(self.account.id, "Purchase", PayoutType.REV_SHARE, Decimal(8)),
        ]

    async def _webhooks(self) -> UUID:
        template = {"id": "{event_id}", "click": "{click_id}", "amount": "{value}"}
        create = self._services.webhooks.create
        made = [
            await create(self.account.id, name, TARGET, "POST", template)
            for name in ("Warehouse", "Partner network")
        ]
        for webhook in made:
            await self._set("webhooks", webhook.id, created_at=self._ago(days=DAYS + 5))
        return made[1].id

    def _clicks(self, links: Sequence[Link]) -> list[Click]:
        """Return the clicks of all days, fewer for each further link and at week-ends."""
        weights = [1 / (number + 1.5) for number in range(len(links))]
        clicks = []
        for number in range(CLICKS):
            link = self._random.choices(links, weights)[0]
            at = self._now - timedelta(seconds=self._random.triangular(60, DAYS * 86_400, 0))
            if at.weekday() >= 5 and self._random.random() < 0.45:
                at -= timedelta(days=2)
            clicks.append(self._click(link, at, number))
        return clicks

    def _click(self, link: Link, at: datetime, number: int) -> Click:
        visitor = self._random.randrange(CLICKS // 2)
        return Click(
            id=new_click_id().bytes,
            at=int(at.timestamp() * 1000),
            account_id=self.account.id.bytes,
            link_id=link.id.bytes,
            domain_name="",
            address=f"203.0.{visitor // 250}.{visitor % 250}",
            user_agent=self._random.choices(BROWSERS, (38, 30, 20, 8, 4))[0],
            referrer="https://news.example/outdoor" if number % 3 else "",
            purpose="",
            edge_country=self._random.choices(COUNTRIES, (40, 18, 12, 10, 9, 6, 5))[0],
            query="utm_term=trail" if number % 4 == 0 else "",
        )

    def _events(self, clicks: Sequence[Click], configs: Sequence[EventConfig]) -> list[Event]:
        """Return conversions in every state: of clicks, of no click, and of one still missing."""
        converted = [one for one in clicks if self._random.random() < CONVERSION_RATE]
        ids = [one.id for one in converted] + [new_click_id().bytes, None]
        times = [one.at + 90_000 for one in converted] + 2 * [int(self._now.timestamp() * 1000)]
        events = []
        for number, (click_id, at) in enumerate(sorted(zip(ids, times, strict=True), key=_time)):
            config = configs[0 if number % 4 == 0 else 1]
            value = Decimal(self._random.randrange(1_200, 18_000)) / 100
            payout = config.payout if config is configs[0] else value * 8 / 100
            events.append(
                Event(
                    id=1_001 + number,
                    at=min(at, int(self._now.timestamp() * 1000)),
                    account_id=self.account.id.bytes,
                    event_config_id=config.id.bytes,
                    click_id=click_id,
                    value=str(value),
                    payout=str(payout),
                    metadata='{"order": {"items": 2, "currency": "EUR"}, "customer": "new"}',
                    transaction_id=f"order-{72_000 + 7 * number}",
                    transaction_scope=config.id.bytes,
                    checked=True,
                )
            )
        self.event_id = events[-4].id
        return events

    async def _apply(self, records: Sequence[Any]) -> None:
        slot = Slot(self._services.redis, self._services.mongodb)
        await self._services.drain(slot).apply(records)

    async def _settings(self) -> None:
        await self._deliveries()
        keys = self._services.api_keys
        for name, scopes in (("shop server", ["links:*", "conversions:read"]), ("ci", None)):
            key, _ = await keys.create(self.account.id, name, scopes)
            await self._set("api_keys", key.id, last_used_at=self._ago(hours=2))
        await self._services.domains.create(self.account.id, "go.acme.example")
        for name in ("tags", "event_configs", "api_keys", "domains"):
            made = {"$set": {"created_at": self._ago(days=DAYS + 5)}}
            await self._services.database[name].update_many({}, made)
        ada = Actor(kind=ActorKind.MEMBER, id=self.members[0].person_id, name=PEOPLE[0][0])
        target = Target(kind="short_link", id=self.link.id, name=self.link.internal_name)
        for action, changes in (
            ("short_link.created", {}),
            ("short_link.changed", {"tags": Change(before=None, after=TAGS[0])}),
        ):
            await self._services.audit.record(
                self.account.id, ada, action, target, changes, "198.51.100.0/24"
            )

    async def _deliveries(self) -> None:
        """Finish the deliveries: nearly all were taken, one in nine failed."""
        deliveries = self._services.database["deliveries"]
        rows = [row async for row in deliveries.find({}, ["created_at"]).sort("_id", 1)]
        for number, row in enumerate(rows):
            code = 503 if number % 9 == 0 else 200
            attempt = {
                "at": self._ago(minutes=number),
                "milliseconds": 60 + number % 90,
                "code": code,
            }
            attempt |= {"answer": "" if code == 200 else "upstream is down", "error": None}
            status = "delivered" if code == 200 else "failed"
            fields = {"status": status, "attempts": [attempt], "created_at": attempt["at"]}
            await deliveries.update_one({"_id": row["_id"]}, {"$set": fields})

    def _ago(self, **length: float) -> datetime:
        return self._now - timedelta(**length)

    async def _set(self, collection: str, document_id: UUID, **fields: object) -> None:
        await self._services.database[collection].update_one({"_id": document_id}, {"$set": fields})


def _time(pair: tuple[bytes | None, int]) -> int:
    return pair[1]
