"""An account as it looks after two months of work. Nothing is random.

Everything is stored by the service's own stores and drain, so reports agree with it.
"""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final
from urllib.parse import parse_qs
from uuid import UUID

from msgspec.structs import replace

from lab.requests import AGENTS
from lab.sample_data import (
    AGENT_WEIGHTS,
    APP_RULE,
    CONTENTS,
    CONVERSION_RATES,
    COUNTRIES,
    HOUR_WEIGHTS,
    LINKS,
    OTHER_RATE,
    PEOPLE,
    SPLIT,
    SPLIT_LINK,
    TAGS,
    TARGET,
)
from lab.scene import new_link
from tracker.access.audit import AuditObject, FieldChange
from tracker.access.principal import Actor, ActorKind, Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.accounts.members import Member
from tracker.clicks.bots import bot_reason
from tracker.clicks.click import Click
from tracker.clock import now
from tracker.conversions.conversion import Conversion
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.ids import new_click_id
from tracker.ingest.drain_number import DrainNumber
from tracker.links.link import Link
from tracker.links.rules.draw import Draw
from tracker.service.services import Services

DAYS: Final = 60
CLICKS: Final = 14_000
BATCH: Final = 2_000
"""The records that are stored in one transaction."""

SEED: Final = 7


class SampleAccount:
    """The maker of the account; `link`, `split_link` and `webhook` are what pictures show."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._random = random.Random(SEED)  # noqa: S311
        self._now = now()

    async def make(self) -> None:
        self.account: Account = await self._services.accounts.accounts.create("Acme Outdoor")
        self.members: list[Member] = [await self._member(*one) for one in PEOPLE]
        links = await self._links()
        self.link, self.split_link = links[0], links[SPLIT_LINK]
        configs = await self._event_configs()
        self.webhook = await self._webhooks()
        clicks = self._clicks(links)
        await self._apply(clicks)
        await self._apply(self._events(clicks, configs))
        await self._settings()

    async def _member(self, name: str, email: str, role: Role) -> Member:
        person = await self._services.accounts.people.create(email, name, "no password")
        member = await self._services.accounts.members.add(self.account.id, person.id, role)
        seen = self._ago(days=role == Role.VIEWER, minutes=12)
        await self._set("members", member.id, created_at=self._ago(days=60), last_seen_at=seen)
        return member

    async def _links(self) -> list[Link]:
        tags = [await self._services.links.tags.create(self.account.id, name) for name in TAGS]
        links = []
        for number, (name, slug, url, tag, _) in enumerate(reversed(LINKS)):
            new = new_link(self.account.id, slug, url, tags=[tags[tag].id])
            shown = replace(new, internal_name=name, active=slug != "pod11")
            if slug == LINKS[SPLIT_LINK][1]:
                shown = replace(shown, rules=[APP_RULE], split=SPLIT)
            link = await self._services.links.links.create(shown)
            made = self._ago(days=DAYS + len(LINKS) - number)
            await self._set("links", link.id, created_at=made)
            links.append(link)
        return links[::-1]

    async def _event_configs(self) -> list[EventConfig]:
        create = self._services.conversions.event_configs.create
        return [
            await create(self.account.id, "Sign-up", PayoutType.CPL, Decimal("1.50")),
            await create(self.account.id, "Purchase", PayoutType.REV_SHARE, Decimal(8)),
        ]

    async def _webhooks(self) -> UUID:
        template = {"id": "{event_id}", "click": "{click_id}", "amount": "{value}"}
        create = self._services.webhooks.webhooks.create
        made = [
            await create(self.account.id, name, TARGET, "POST", template)
            for name in ("Warehouse", "Partner network")
        ]
        for webhook in made:
            await self._set("webhooks", webhook.id, created_at=self._ago(days=DAYS + 5))
        return made[1].id

    def _clicks(self, links: Sequence[Link]) -> list[Click]:
        """Return the clicks of all days, oldest first: more each week, fewer at week-ends."""
        weights = [1 / (number + 1.5) for number in range(len(links))]
        times = sorted(self._time() for _ in range(CLICKS))
        return [
            self._click(self._random.choices(range(len(links)), weights)[0], at, links)
            for at in times
        ]

    def _time(self) -> datetime:
        while True:
            [day] = self._random.choices(range(DAYS), range(2 * DAYS, DAYS, -1))
            [hour] = self._random.choices(range(24), HOUR_WEIGHTS)
            at = (self._now - timedelta(days=day)).replace(hour=hour)
            at += timedelta(minutes=self._random.randrange(-30, 30))
            is_kept = at.weekday() < 5 or self._random.random() < 0.6
            if is_kept and at < self._now - timedelta(minutes=2):
                return at

    def _click(self, number: int, at: datetime, links: Sequence[Link]) -> Click:
        visitor = self._random.randrange(CLICKS // 2)
        campaign = LINKS[number][4]
        click = Click(
            id=new_click_id().bytes,
            at=int(at.timestamp() * 1000),
            account_id=self.account.id.bytes,
            link_id=links[number].id.bytes,
            domain_name="",
            address=f"203.0.{visitor // 250}.{visitor % 250}",
            user_agent=self._random.choices(AGENTS, AGENT_WEIGHTS)[0],
            referrer=self._random.choice(campaign.referrers),
            purpose="",
            edge_country=self._random.choices(list(COUNTRIES), list(COUNTRIES.values()))[0],
            query=campaign.query(self._random.choice(CONTENTS)),
        )
        return _decided(click) if number == SPLIT_LINK else click

    def _converts(self, click: Click) -> bool:
        """Return whether a click becomes a conversion: bots never, people by their campaign."""
        campaign = parse_qs(click.query)["utm_campaign"][0]
        rate = CONVERSION_RATES.get(campaign, OTHER_RATE)
        return "bot" not in click.user_agent and self._random.random() < rate

    def _events(self, clicks: Sequence[Click], configs: Sequence[EventConfig]) -> list[Conversion]:
        """Return conversions in every state: of clicks, of no click, and of one still missing."""
        converted = [one for one in clicks if self._converts(one)]
        last = int(self._now.timestamp() * 1000)
        # From half a minute to two days, half of them within half an hour.
        times = [one.at + int(30_000 * 5760 ** self._random.random() ** 1.1) for one in converted]
        made: list[tuple[bytes | None, int]] = [
            (one.id, at) for one, at in zip(converted, times, strict=True) if at < last
        ]
        made += [(new_click_id().bytes, last), (None, last)]
        events = []
        for number, (click_id, at) in enumerate(sorted(made, key=itemgetter(1))):
            config = configs[0 if number % 4 == 0 else 1]
            value = Decimal(self._random.randrange(1_200, 18_000)) / 100
            payout = config.payout if config is configs[0] else round(value * 8 / 100, 2)
            events.append(
                Conversion(
                    id=1_001 + number,
                    at=at,
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
        return events

    async def _apply(self, records: Sequence[Any]) -> None:
        drain_number = DrainNumber(self._services.stores.redis, self._services.stores.mongodb)
        for start in range(0, len(records), BATCH):
            await self._services.ingest.drain(drain_number).apply(records[start : start + BATCH])

    async def _settings(self) -> None:
        await self._deliveries()
        keys = self._services.access.api_keys
        for name, scopes in (("shop server", ["links:*", "conversions:read"]), ("ci", None)):
            key, _ = await keys.create(self.account.id, name, scopes)
            await self._set("api_keys", key.id, last_used_at=self._ago(hours=2))
        await self._services.links.domains.create(self.account.id, "go.acme.example")
        for name in ("tags", "event_configs", "api_keys", "domains"):
            made = {"$set": {"created_at": self._ago(days=DAYS + 5)}}
            await self._services.stores.mongodb[name].update_many({}, made)
        ada = Actor(kind=ActorKind.MEMBER, id=self.members[0].person_id, name=PEOPLE[0][0])
        author = Author(self.account.id, ada, "198.51.100.0/24")
        target = AuditObject(kind="short_link", id=self.link.id, name=self.link.internal_name)
        for action, changes in (
            ("short_link.created", {}),
            ("short_link.changed", {"tags": FieldChange(before=None, after=TAGS[0])}),
        ):
            await self._services.access.audit.record(author, action, target, changes)

    async def _deliveries(self) -> None:
        """Finish the deliveries: nearly all were taken, one in nine failed."""
        deliveries = self._services.stores.mongodb["deliveries"]
        rows = [row async for row in deliveries.find({}, ["created_at"]).sort("_id", 1)]
        for number, row in enumerate(rows):
            code = 503 if number % 9 == 0 else 200
            status, answer = ("delivered", "") if code == 200 else ("failed", "upstream is down")
            attempt = {"at": self._ago(minutes=1 + 75 * number), "milliseconds": 60 + number % 90}
            attempt |= {"code": code, "answer": answer, "error": None}
            fields = {"status": status, "attempts": [attempt], "created_at": attempt["at"]}
            await deliveries.update_one({"_id": row["_id"]}, {"$set": fields})

    def _ago(self, **length: float) -> datetime:
        return self._now - timedelta(**length)

    async def _set(self, collection: str, document_id: UUID, **fields: object) -> None:
        await self._services.stores.mongodb[collection].update_one(
            {"_id": document_id}, {"$set": fields}
        )


def _decided(click: Click) -> Click:
    """Return a click of the link with a rule and a split, as its redirect would record it."""
    if "iPhone" in click.user_agent and click.edge_country == "DE":
        return replace(click, rule_id=APP_RULE.id.bytes)
    if bot_reason(click.user_agent, "") is not None:
        return click
    drawn = Draw(SPLIT).variant(click.address, click.user_agent)
    return replace(click, variant_id=drawn and drawn.id.bytes)
