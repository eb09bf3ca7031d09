"""Batches: events of several deliveries in one request, for ad platforms. Pure.

If a platform refuses one, each of its deliveries is sent by itself the next time, so that only the
bad one fails. So it is after _MOST_TOGETHER attempts, whatever the answer was.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Final
from uuid import UUID

import msgspec

from tracker.webhooks.delivery import Delivery
from tracker.webhooks.limits import MAX_DELIVERIES_PER_CLAIM, MAX_PAYLOAD_BYTES
from tracker.webhooks.macros import ENCODER, Unfillable, parsed
from tracker.webhooks.payloads.content import Prepared
from tracker.webhooks.presets.ads import MAX_EVENTS, PLATFORMS
from tracker.webhooks.store import Webhook

_MOST_TOGETHER: Final = 5
"""They take more than two hours. The others are left for a bad event that breaks the platform."""


class Batch(msgspec.Struct):
    """Deliveries of one request, the content of the first, and the events of all as JSON."""

    webhook: Webhook
    deliveries: list[Delivery]
    first: Prepared
    events: list[bytes]

    def content(self) -> Prepared:
        if isinstance(self.first, Unfillable) or len(self.events) < 2:
            return self.first
        fields = parsed(self.first.payload)
        fields[PLATFORMS[self.webhook.preset].events] = list(map(msgspec.Raw, self.events))
        return msgspec.structs.replace(self.first, payload=ENCODER.encode(fields).decode())

    def has_room(self, events: list[bytes]) -> bool:
        size = sum(map(len, self.events + events))  # a quarter is for the fields beside them
        number = len(self.events) + len(events)
        return number <= MAX_EVENTS and size <= MAX_PAYLOAD_BYTES * 3 // 4


def most_deliveries(webhook: Webhook, permits: int) -> int:
    """Return how many deliveries so many requests have room for."""
    many = permits * MAX_EVENTS if webhook.preset in PLATFORMS else permits
    return max(permits, min(many, MAX_DELIVERIES_PER_CLAIM))


def batches(
    claimed: Iterable[tuple[Delivery, Prepared]], webhooks: Mapping[UUID, Webhook]
) -> list[Batch]:
    """Put deliveries together whose requests differ in their events only."""
    made: list[Batch] = []
    growing: dict[Hashable, Batch] = {}
    for delivery, content in claimed:
        webhook = webhooks[delivery.webhook_id]
        key, events = _key_and_events(webhook, delivery, content)
        found = growing.get(key)
        if found and found.has_room(events):
            found.deliveries.append(delivery)
            found.events += events
        else:
            growing[key] = Batch(webhook, [delivery], content, events)
            made.append(growing[key])
    return made


def _key_and_events(
    webhook: Webhook, delivery: Delivery, content: Prepared
) -> tuple[Hashable, list[bytes]]:
    """Return what deliveries of one request have in common, and the events of this one."""
    if isinstance(content, Unfillable):
        return (webhook.id, content.failure, str(content)), []
    platform = PLATFORMS.get(webhook.preset)
    if platform is None or _is_sent_alone(delivery):
        return delivery.id, []
    fields = parsed(content.payload)
    events = list(map(ENCODER.encode, fields.pop(platform.events, [])))
    headers = tuple(content.headers.items())
    return (webhook.id, content.url, headers, ENCODER.encode(fields)), events


def _is_sent_alone(delivery: Delivery) -> bool:
    if not delivery.attempts or (last := delivery.attempts[-1]).delivered:
        return False
    # Without an answer, and with these, no event is at fault; unless it goes on for hours.
    is_outage = last.code in (None, 401, 429) or last.code >= 500
    return not is_outage or len(delivery.attempts) >= _MOST_TOGETHER
