"""Webhooks are told of the conversions and changes that they ask for, each once."""

from decimal import Decimal
from typing import Any

import pytest
from bson import Decimal128

from tests.factories import create_webhook
from tests.webhooks.sending.scene import stored
from tests.webhooks.telling import ask, change, conversion, restated, settle, tell
from tracker.clock import now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.documents import as_struct
from tracker.webhooks.delivery import Delivery

ACCOUNT, CONFIG, TAG, LINK = new_id(), new_id(), new_id(), new_id()
BOTH = ("conversion", "conversion.updated")
MONEY = {"value": Decimal128("12.50"), "payout": Decimal128("2")}


async def kinds(services: Services) -> list[str]:
    rows = sorted(await stored(services), key=lambda row: (row["created_at"], row["_id"]))
    return [row.get("kind", "conversion") for row in rows]


@pytest.mark.parametrize(
    ("events", "filters", "statuses", "told"),
    [
        (("conversion",), {}, ["approved", "rejected", "approved"], ["conversion"]),
        (("conversion",), {}, ["pending", "rejected"], []),
        (("conversion",), {}, ["pending", "approved", "refunded"], ["conversion"]),
        (("conversion",), {"statuses": ("pending",)}, ["pending", "approved"], ["conversion"]),
        (("conversion",), {"statuses": ("refunded",)}, ["approved", "refunded"], ["conversion"]),
        (("conversion.updated",), {}, ["approved"], []),
        (BOTH, {}, ["pending", "approved", "rejected"], [*BOTH, BOTH[1]]),
        (BOTH, {"statuses": ("rejected",)}, ["pending", "approved", "rejected"], [BOTH[1]]),
        (("delivery.failed",), {}, ["approved", "rejected"], []),
    ],
)
async def test_a_webhook_is_told_at_each_status_what_it_asks_for(
    services: Services,
    events: tuple[str, ...],
    filters: dict[str, Any],
    statuses: list[str],
    told: list[str],
) -> None:
    webhook = await create_webhook(services, ACCOUNT)
    await ask(services, webhook.id, *events, **filters)
    one = conversion(ACCOUNT, reported=statuses[0])
    await settle(services, one)
    for status in statuses[1:]:
        one = await change(services, one, reported=status)
    assert await kinds(services) == told


@pytest.mark.parametrize(
    ("filters", "fields", "is_told"),
    [
        ({}, {}, True),
        ({"event_config_ids": (CONFIG,)}, {"event_config_id": CONFIG.bytes}, True),
        ({"event_config_ids": (CONFIG,)}, {"event_config_id": LINK.bytes}, False),
        ({"event_config_ids": (CONFIG,)}, {}, False),
        ({"tags": (TAG, new_id())}, {"link_id": LINK.bytes}, True),
        ({"tags": (new_id(),)}, {"link_id": LINK.bytes}, False),
        ({"tags": (TAG,)}, {"link_id": CONFIG.bytes}, False),
        ({"tags": (TAG,)}, {}, False),
        ({"min_value": Decimal("12.5")}, MONEY, True),
        ({"min_value": Decimal("12.51")}, MONEY, False),
        ({"min_value": Decimal(0)}, {}, False),
        ({"min_value": Decimal("12.51")}, {**MONEY, "currency": "JPY"}, True),
        ({"min_value": Decimal(1), "tags": (TAG,)}, MONEY, False),
    ],
)
async def test_a_filter_holds_for_conversions_and_their_changes(
    services: Services, filters: dict[str, Any], fields: dict[str, Any], is_told: bool
) -> None:
    await services.stores.mongodb["links"].insert_one({"_id": LINK, "tags": [TAG]})
    webhook = await create_webhook(services, ACCOUNT)
    await ask(services, webhook.id, *BOTH, **filters)
    one = conversion(ACCOUNT, **fields)
    await settle(services, one)
    await change(services, one, reported="refunded")
    assert await kinds(services) == (list(BOTH) if is_told else [])


async def test_a_delivery_keeps_what_the_conversion_was_then_and_before(services: Services) -> None:
    webhook = await create_webhook(services, ACCOUNT)
    await ask(services, webhook.id, *BOTH)
    one = conversion(ACCOUNT, **MONEY, reported="pending")
    await settle(services, one)
    changes = [restated(0), restated(1, reason="fraud")]
    two = await change(services, one, reported="approved", currency="EUR", changes=changes)
    await change(services, two, **{**MONEY, "value": Decimal128("1")})
    first, second, third = sorted(await stored(services), key=lambda row: row["revision"])
    states = [
        {**MONEY, "reported": "pending"},
        {**MONEY, "reported": "approved", "currency": "EUR"},
        {**MONEY, "reported": "approved", "currency": "EUR", "value": Decimal128("1")},
    ]
    assert [row["state"] for row in (first, second, third)] == states
    assert "previous" not in first
    assert [row["previous"] for row in (second, third)] == states[:2]
    assert [row["reason"] for row in (second, third)] == ["fraud", "fraud"]


async def test_a_change_is_told_once_however_often_it_is_stored(services: Services) -> None:
    webhook = await create_webhook(services, ACCOUNT)
    await ask(services, webhook.id, *BOTH)
    one = conversion(ACCOUNT)
    after = {**one, "reported": "rejected", "revision": 1}
    for _ in range(2):
        await tell(services, [one], [(one, after)])
    assert sorted(await kinds(services)) == list(BOTH)


async def test_a_late_report_is_judged_by_its_arrival(services: Services) -> None:
    webhook = await create_webhook(services, ACCOUNT)
    older = {"at": webhook.created_at.replace(year=2020)}
    await settle(
        services, conversion(ACCOUNT, **older), conversion(ACCOUNT, **older, received_at=now())
    )
    assert len(await stored(services)) == 1


async def test_a_payload_has_the_currency_of_the_conversion_else_of_the_account(
    services: Services,
) -> None:
    webhook = await create_webhook(services, ACCOUNT)
    await ask(services, webhook.id, *BOTH)
    await services.stores.mongodb["accounts"].insert_one({"_id": ACCOUNT, "currency": "EUR"})
    one = conversion(ACCOUNT, **MONEY)
    await settle(services, one)
    await change(services, one, value=Decimal128("9"), currency="JPY")
    sources = await services.webhooks.payloads.load({one["_id"]})
    shown = []
    for row in sorted(await stored(services), key=lambda row: row["revision"]):
        values = sources.values(as_struct(Delivery, row))
        shown.append([values.get(name) for name in ("value", "currency", "previous_value")])
    assert shown == [[Decimal("12.50"), "EUR", None], [Decimal(9), "JPY", Decimal("12.50")]]
