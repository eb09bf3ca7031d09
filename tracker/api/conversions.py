"""`/api/conversions`: the log of an account's conversions."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tracker.api.conversion_schema import (
    ConversionClick,
    ConversionDelivery,
    ConversionDetail,
    ConversionEventConfig,
    ConversionLink,
    ConversionPage,
    ConversionRecord,
    ListConversions,
    cursor_of,
)
from tracker.api.deliveries import delivery_record
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.resource import Resource, record_of
from tracker.api.services import Services
from tracker.clicks.document import ClickDocument, decoded
from tracker.clock import iso
from tracker.conversions.log import LoggedEvent
from tracker.webhooks.delivery import delivery_id
from tracker.webhooks.limits import MAX_WEBHOOKS_PER_ACCOUNT


async def _show(services: Services, events: Sequence[LoggedEvent]) -> list[ConversionRecord]:
    """Return the records of `events`, with one query for their links and one for their configs."""
    links = await services.links.find_all({one.link_id for one in events if one.link_id})
    configs = await services.event_configs.find_all(
        {one.event_config_id for one in events if one.event_config_id}
    )
    records = []
    for event in events:
        link = links.get(event.link_id) if event.link_id else None
        config = configs.get(event.event_config_id) if event.event_config_id else None
        records.append(
            record_of(
                ConversionRecord,
                event,
                event_id=event.id,
                event_config=record_of(ConversionEventConfig, config) if config else None,
                link=record_of(ConversionLink, link) if link else None,
            )
        )
    return records


CONVERSIONS: Resource[LoggedEvent, ConversionRecord] = Resource(
    "conversion",
    lambda call: call.services.conversion_log.find(call.event_ids[0]),
    _show,
)


async def list_conversions(call: Call[ListConversions, Nothing]) -> ConversionPage:
    """Return a page of the account's conversions, newest first."""
    query = call.query
    page = await call.services.conversion_log.page(
        call.account_id, query.filter(), query.position(), query.page_size
    )
    return ConversionPage(
        rows=await CONVERSIONS.show_all(call, page.events),
        next_cursor=cursor_of(page.next) if page.next else None,
        searched_to=iso(page.searched_to) if page.searched_to else None,
    )


async def show(call: Call[Nothing, Nothing]) -> ConversionDetail:
    """Return a conversion with its click, its metadata and its deliveries.

    Raises NotFound or Forbidden if the account has no such conversion.
    """
    event = await CONVERSIONS.own(call)
    sees_deliveries = call.principal.covers(["webhooks:read"])
    return record_of(
        ConversionDetail,
        await CONVERSIONS.show(call, event),
        click=await _click(call, event.click_id),
        metadata=event.metadata,
        deliveries=await _deliveries(call, event) if sees_deliveries else None,
    )


async def _click(call: Call[Any, Any], click_id: UUID | None) -> ConversionClick | None:
    """Return the account's stored click with this id."""
    if click_id is None:
        return None
    click = (await call.services.clicks.find([click_id.bytes])).get(click_id.bytes)
    is_own = click is not None and click["account_id"] == call.account_id.bytes
    return _click_record(click_id, click) if click is not None and is_own else None


def _click_record(click_id: UUID, click: ClickDocument) -> ConversionClick:
    return ConversionClick(
        id=click_id,
        at=iso(click["at"]),
        link_id=UUID(bytes=click["link_id"]),
        country=click["country"],
        device=click["device"],
        browser=click["browser"],
        os=click["os"],
        bot=click["bot"],
        referrer=decoded(click["referrer"]) or None,
        query=decoded(click["query"]),
    )


async def _deliveries(call: Call[Any, Any], event: LoggedEvent) -> list[ConversionDelivery]:
    """Return the deliveries of a conversion to the account's webhooks, newest webhook first."""
    webhooks, _ = await call.services.webhooks.page(call.account_id, 1, MAX_WEBHOOKS_PER_ACCOUNT)
    ids = {delivery_id(one.id, event.id): one for one in webhooks}
    found = await call.services.deliveries.find_all(ids)
    return [
        delivery_record(ConversionDelivery, found[one], webhook_name=webhook.name)
        for one, webhook in ids.items()
        if one in found
    ]


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/conversions",
        "conversions:read",
        list_conversions,
        "List conversions, newest first; a page begins where the cursor of the one before ended",
        ConversionPage,
        query=ListConversions,
    ),
    Endpoint(
        "GET",
        "/api/conversions/{event_id}",
        "conversions:read",
        show,
        "Show a conversion with its click, its metadata and its deliveries",
        ConversionDetail,
    ),
)
