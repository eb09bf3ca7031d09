"""Costs of periods that a test enters for a history."""

from decimal import Decimal
from random import Random
from typing import Any

from bson import Decimal128

from tests.reports.counted import own_value
from tests.reports.history import History, days
from tracker.clicks.sources import SOURCES
from tracker.ids import new_id
from tracker.reports.costs.entries import PeriodCost, cost_of
from tracker.service.services import Services
from tracker.stores.mongodb.documents import StoredId

FIELDS = {source.name: source for source in SOURCES}


def values_of(history: History, click: dict[str, Any], name: str) -> list[str]:
    if name == "link":
        return [str(click["link_id"])]
    if name == "tag":
        return [str(one) for one in history.tags[click["link_id"]]]
    if name == "day":
        return [click["at"].date().isoformat()]
    if name == "parameter:gone":  # which the account does not have
        return []
    if name in ("parameter:sub1", "parameter_0"):
        return [own_value(click.get("parameter_0", ""), "none")]
    if name in FIELDS:
        return [click.get(FIELDS[name].field, FIELDS[name].absent)]
    return [click[name]]


async def enter(
    services: Services, history: History, random: Random, many: int
) -> list[PeriodCost]:
    """Store costs of days and hours with every filter, some in another currency."""
    rows = []
    for number in range(many):
        own = ["parameter:sub1", "parameter:sub1", "parameter:gone"]
        name = random.choice(["link", "tag", "utm_source", "utm_campaign", "referrer", *own])
        click = random.choice([one for one in history.clicks if history.tags[one["link_id"]]])
        value = random.choice([*values_of(history, click, name), str(new_id())])
        ends = sorted(random.choices(list(days()), k=2))
        hour = random.random() < 0.3
        first, last = (
            f"{one}T{random.choice(('00', '09', '23'))}" if hour else f"{one}" for one in ends
        )
        rows.append(
            {
                "_id": StoredId(new_id().bytes),
                "account_id": history.account_id,
                "key": f"{number}",
                "first": min(first, last),
                "last": max(first, last),
                "filter": name,
                "value": value,
                "amount": Decimal128(Decimal(random.randrange(10**9)) / 10**6),
                "currency": random.choice([None, None, "USD"]),
            }
        )
    await services.stores.mongodb["costs"].insert_many(rows)
    await services.stores.mongodb["accounts"].update_one(
        {"_id": history.account_id}, {"$set": {"has_costs": True}}, upsert=True
    )
    return [cost_of(row) for row in rows]
