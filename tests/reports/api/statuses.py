"""Conversions of every status, in two currencies, of an account that counts in euros."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

from bson import Decimal128

from tests.factories import create_link, make_click_document
from tests.reports.api.traffic import event
from tests.reports.history import store
from tracker.accounts.accounts import Account
from tracker.calendar import calendar_of
from tracker.service.services import Services


async def with_statuses(
    services: Services, account: Account, at: datetime, zone: str = "UTC"
) -> list[dict[str, Any]]:
    """Store a click, and its conversions a minute later; return these."""
    await services.stores.mongodb["accounts"].update_one(
        {"_id": account.id}, {"$set": {"currency": "EUR", "time_zone": zone}}
    )
    link = await create_link(services, account.id)
    click = make_click_document(account_id=account.id, link_id=link.id, at=at)
    drawn: list[dict[str, Any]] = [
        {"value": 10, "payout": 4, "refunded_value": 3},
        {"value": 20, "reported": "pending"},
        {"value": 30, "reported": "rejected"},
        {"value": 40, "payout": 9, "reported": "refunded"},
        {"value": 500, "payout": 50, "currency": "USD"},
        {"value": 600, "reported": "pending", "currency": "USD"},
    ]
    events = [
        event(
            number,
            click,
            **{
                name: one if isinstance(one, str) else Decimal128(str(one))
                for name, one in fields.items()
            },
        )
        | {"at": at + timedelta(minutes=1)}
        for number, fields in enumerate(drawn, 1)
    ]
    await store(services, Random(0), [click], events, {account.id.bytes: calendar_of(zone)})
    return events
