"""`/api/conversions`: the feed of an account's conversions, and one of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import Any
from uuid import UUID

from msgspec.structs import asdict

from tracker.feeds.api.click_records import ClickLink, ConversionClick
from tracker.feeds.api.clicks import click_record
from tracker.feeds.api.conversion_schema import (
    ConversionDelivery,
    ConversionDetail,
    ConversionEventConfig,
    ConversionRecord,
    DeliveryCounts,
    ListConversions,
    ListedConversion,
)
from tracker.feeds.api.feed_request import all_of_feed, feed_filter
from tracker.feeds.api.schema import FeedAnswer, cursor_fields
from tracker.feeds.conversions import StoredConversion
from tracker.feeds.services import FeedCall, FeedServices
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.export import Export
from tracker.web.resource import Resource, record_of
from tracker.webhooks.api.deliveries import delivery_record, hide_secrets
from tracker.webhooks.delivery import delivery_id
from tracker.webhooks.limits import MAX_WEBHOOKS_PER_ACCOUNT
from tracker.webhooks.store import Webhook

endpoint = Endpoints("feeds")


async def _show(
    services: FeedServices, conversions: Sequence[StoredConversion]
) -> list[ConversionRecord]:
    """Return the records of conversions, with one query for links and one for configurations."""
    links, configs = await asyncio.gather(
        services.links.links.find_all({one.link_id for one in conversions if one.link_id}),
        services.conversions.event_configs.find_all(
            {one.event_config_id for one in conversions if one.event_config_id}
        ),
    )
    records = []
    for one in conversions:
        link = links.get(one.link_id) if one.link_id else None
        config = configs.get(one.event_config_id) if one.event_config_id else None
        records.append(
            record_of(
                ConversionRecord,
                one,
                event_id=one.id,
                event_config=record_of(ConversionEventConfig, config) if config else None,
                link=record_of(ClickLink, link) if link else None,
            )
        )
    return records


CONVERSIONS: Resource[StoredConversion, ConversionRecord] = Resource(
    "conversion",
    lambda call: call.services.conversion_feed.find(call.event_ids[0]),
    _show,
)


async def show_conversions(
    services: FeedServices,
    account_id: UUID,
    conversions: Sequence[StoredConversion],
    with_deliveries: bool,
) -> list[ListedConversion]:
    """Return the rows of an account's conversions, with one query for each collection."""
    counted = conversions if with_deliveries else []
    records, clicks, deliveries = await asyncio.gather(
        _show(services, conversions),
        _clicks(services, account_id, [one.click_id for one in conversions]),
        _delivery_counts(services, account_id, counted),
    )
    return [
        ListedConversion(
            **asdict(record),
            click=clicks.get(one.click_id),
            deliveries=deliveries.get(one.id),
        )
        for one, record in zip(conversions, records, strict=True)
    ]


async def all_conversions(
    call: FeedCall[ListConversions, Nothing],
) -> AsyncGenerator[list[ListedConversion], None]:
    sees_deliveries = call.principal.covers(["webhooks:read"])
    async with aclosing(all_of_feed(call, call.services.conversion_feed)) as found:
        async for some in found:
            yield await show_conversions(call.services, call.account_id, some, sees_deliveries)


@endpoint(
    "GET",
    "/api/conversions",
    "conversions:read",
    export=Export(
        "conversions",
        "Export all conversions that pass the filters, as CSV or NDJSON",
        ListedConversion,
        all_conversions,
    ),
)
async def list_conversions(
    call: FeedCall[ListConversions, Nothing],
) -> FeedAnswer[ListedConversion]:
    """List conversions, newest first, or everything that was stored after a cursor."""
    query, services = call.query, call.services
    wanted = await feed_filter(call)
    page = await services.conversion_feed.page(
        call.account_id, wanted, query.start(), query.page_size
    )
    sees_deliveries = call.principal.covers(["webhooks:read"])
    rows = await show_conversions(services, call.account_id, page.rows, sees_deliveries)
    return FeedAnswer(rows=rows, **cursor_fields(query, page))


@endpoint("GET", "/api/conversions/{event_id}", "conversions:read")
async def show(call: FeedCall[Nothing, Nothing]) -> ConversionDetail:
    """Show a conversion with its click, its metadata and its deliveries."""
    conversion = await CONVERSIONS.find(call)
    record, clicks, deliveries = await asyncio.gather(
        CONVERSIONS.show(call, conversion),
        _clicks(call.services, call.account_id, [conversion.click_id]),
        _deliveries(call, conversion),
    )
    return ConversionDetail(
        **asdict(record),
        click=clicks.get(conversion.click_id),
        metadata=conversion.metadata,
        deliveries=deliveries,
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
    """Return the deliveries to the account's webhooks, newest webhook first.

    Return None if the caller may not see webhooks.
    """
    if not call.principal.covers(["webhooks:read"]):
        return None
    webhooks = await _webhooks(call.services, call.account_id)
    ids = {delivery_id(one.id, conversion.id): one for one in webhooks}
    found = await call.services.webhooks.deliveries.find_all(ids)
    records = [
        delivery_record(ConversionDelivery, found[one], webhook_name=webhook.name)
        for one, webhook in ids.items()
        if one in found
    ]
    await hide_secrets(call.services.webhooks.deliveries, call.principal, records)
    return records
