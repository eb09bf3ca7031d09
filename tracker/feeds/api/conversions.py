"""`/api/conversions`: the feed of an account's conversions, and one of them."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from tracker.clock import iso
from tracker.feeds.api.click_records import ClickLink, ConversionClick, decided_by, record_in
from tracker.feeds.api.clicks import click_record
from tracker.feeds.api.conversion_changes import shown_changes
from tracker.feeds.api.conversion_schema import (
    ConversionDelivery,
    ConversionDetail,
    ConversionEventConfig,
    DeliveryCounts,
    ListConversions,
    ListedConversion,
)
from tracker.feeds.api.feed_request import (
    account_currency,
    all_of_feed,
    page_of_feed,
    parameter_columns,
)
from tracker.feeds.api.schema import FeedPage
from tracker.feeds.conversions import StoredConversion
from tracker.feeds.services import FeedCall, FeedServices
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.export import Export
from tracker.web.resource import record_of
from tracker.webhooks.api.deliveries import delivery_record, hide_secrets
from tracker.webhooks.delivery import delivery_id
from tracker.webhooks.limits import MAX_WEBHOOKS_PER_ACCOUNT
from tracker.webhooks.store import Webhook

endpoint = Endpoints("feeds")


async def _related(
    services: FeedServices, account_id: UUID, conversions: Sequence[StoredConversion]
) -> list[dict[str, object]]:
    """Return the fields that other collections give to conversions, with one query for each."""
    links, configs, clicks, decided = await asyncio.gather(
        services.links.links.find_all({one.link_id for one in conversions if one.link_id}),
        services.conversions.event_configs.find_all(
            {one.event_config_id for one in conversions if one.event_config_id}
        ),
        _clicks(services, account_id, [one.click_id for one in conversions]),
        decided_by(services.reads, conversions),
    )
    return [
        {
            "event_config": record_in(ConversionEventConfig, configs, one.event_config_id),
            "link": record_in(ClickLink, links, one.link_id),
            "click": clicks.get(one.click_id),
            **by,
        }
        for one, by in zip(conversions, decided, strict=True)
    ]


def _own(conversion: StoredConversion, currency: str | None) -> dict[str, object]:
    """Return the fields that have other names than stored."""
    return {
        "event_id": conversion.id,
        "received_at": iso(conversion.received_at or conversion.at),
        "status": conversion.reported,
        "attribution": conversion.status,
        "currency": conversion.currency or currency,
    }


async def listed(
    call: FeedCall[Any, Any], conversions: Sequence[StoredConversion]
) -> list[ListedConversion]:
    counted = conversions if call.principal.covers(["webhooks:read"]) else []
    related, deliveries, currency = await asyncio.gather(
        _related(call.services, call.account_id, conversions),
        _delivery_counts(call.services, call.account_id, counted),
        account_currency(call),
    )
    return [
        record_of(
            ListedConversion,
            one,
            deliveries=deliveries.get(one.id),
            **_own(one, currency),
            **fields,
        )
        for one, fields in zip(conversions, related, strict=True)
    ]


@endpoint(
    "GET",
    "/api/conversions",
    "conversions:read",
    export=Export(
        "conversions",
        "Export all conversions that pass the filters, as CSV or NDJSON",
        ListedConversion,
        lambda call: all_of_feed(call, call.services.conversion_feed, listed),
        account_columns=parameter_columns,
    ),
    limited=True,
)
async def list_conversions(
    call: FeedCall[ListConversions, Nothing],
) -> FeedPage[ListedConversion]:
    """List conversions, newest first, or everything that was stored after a cursor."""
    return await page_of_feed(call, call.services.conversion_feed, listed)


@endpoint("GET", "/api/conversions/{event_id}", "conversions:read", limited=True)
async def show(call: FeedCall[Nothing, Nothing]) -> ConversionDetail:
    """Show a conversion with its click, its metadata, its changes and its deliveries."""
    found = await call.services.conversion_feed.find(call.event_ids[0])
    if found is None or call.principal.tags is None:
        return await detail(call, call.check_owner("conversion", found))
    link = found.link_id and await call.services.links.links.find(found.link_id)
    call.check_owner("conversion", link or None)
    return await detail(call, found)


async def detail(call: FeedCall[Any, Any], conversion: StoredConversion) -> ConversionDetail:
    [related], deliveries, changes, currency = await asyncio.gather(
        _related(call.services, call.account_id, [conversion]),
        _deliveries(call, conversion),
        shown_changes(call, conversion.changes),
        account_currency(call),
    )
    return record_of(
        ConversionDetail,
        conversion,
        deliveries=deliveries,
        changes=changes,
        **_own(conversion, currency),
        **related,
    )


async def _clicks(
    services: FeedServices, account_id: UUID, ids: Iterable[UUID | None]
) -> dict[UUID | None, ConversionClick]:
    """Return the account's stored clicks with these ids, by id."""
    given = {one for one in ids if one is not None}
    found = await services.click_feed.find_all(account_id, given)
    return {click.id: click_record(ConversionClick, click) for click in found}


async def _delivery_counts(
    services: FeedServices, account_id: UUID, conversions: Sequence[StoredConversion]
) -> dict[int, DeliveryCounts]:
    if not conversions:
        return {}
    ids = {
        delivery_id(webhook.id, one.id): one.id
        for webhook in await _webhooks(services, account_id)
        for one in conversions
    }
    counts = {one.id: Counter[str]() for one in conversions}
    for delivery, status in (await services.webhooks.deliveries.statuses(ids)).items():
        counts[ids[delivery]][status] += 1
    return {event_id: DeliveryCounts(**found) for event_id, found in counts.items()}


async def _webhooks(services: FeedServices, account_id: UUID) -> Sequence[Webhook]:
    webhooks, _ = await services.webhooks.webhooks.page(account_id, 1, MAX_WEBHOOKS_PER_ACCOUNT)
    return webhooks


async def _deliveries(
    call: FeedCall[Any, Any], conversion: StoredConversion
) -> list[ConversionDelivery] | None:
    """Return the deliveries of it and its changes, newest webhook first.

    Return None if the caller may not see webhooks.
    """
    if not call.principal.covers(["webhooks:read"]):
        return None
    webhooks = await _webhooks(call.services, call.account_id)
    revisions = range(1, conversion.revision + 1)
    subjects = [str(conversion.id), *(f"{conversion.id} {number}" for number in revisions)]
    ids = {delivery_id(one.id, subject): one for one in webhooks for subject in subjects}
    found = await call.services.webhooks.deliveries.find_all(ids)
    records = [
        delivery_record(ConversionDelivery, found[one], webhook_name=webhook.name)
        for one, webhook in ids.items()
        if one in found
    ]
    await hide_secrets(call.services.webhooks.deliveries, call.principal, records)
    return records
