"""The content of a delivery: payload, URL and own headers. Pure.

The sender prepares it before each attempt, with the webhook's secrets decrypted.

- All attempts send the payload and values of the first, even if the conversion changes.
- URL and headers are the webhook's current ones, so an owner who corrects them receives retries.
- Messages have no conversion: the macros of their webhook are empty.
"""

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

import msgspec

from tracker.webhooks.delivery import Delivery
from tracker.webhooks.headers import fill_headers, macros_in, parsed_headers
from tracker.webhooks.limits import MAX_CLICKS_BYTES
from tracker.webhooks.macros import Unfillable, as_text
from tracker.webhooks.payloads.payload import render
from tracker.webhooks.payloads.sources import PayloadLoader, PayloadSources
from tracker.webhooks.payloads.target_template import target_template
from tracker.webhooks.payloads.values import MacroValues
from tracker.webhooks.presets.ads import AGE, PLATFORMS, fitted_event
from tracker.webhooks.presets.chat import as_chat, escape_of, fitted
from tracker.webhooks.schedule import NOT_TOLD
from tracker.webhooks.store import Webhook


class DeliveryContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an attempt.

    The delivery stores `texts` as `macros`, and `shown_url` as `url`.
    """

    payload: str
    url: str
    headers: Mapping[str, str]
    texts: Mapping[str, str]
    shown_url: str | None

    def unstored(self, delivery: Delivery) -> dict[str, str | None]:
        """Return the fields that `delivery` has not stored yet; of clicks nothing is stored."""
        if delivery.click_ids is not None:
            return {}
        macros = msgspec.json.encode(self.texts).decode() if self.texts else None
        fields = {"payload": self.payload, "macros": macros, "url": self.shown_url}
        return {name: one for name, one in fields.items() if one != getattr(delivery, name)}


Prepared = DeliveryContent | Unfillable
"""The content of an attempt, or why nothing can be sent."""


def needs_conversion(webhook: Webhook, delivery: Delivery) -> bool:
    """Return whether a conversion's delivery needs values that it has not stored."""
    if delivery.event_id is None:
        return False
    return delivery.payload is None or bool(macros_of(webhook) - _stored_texts(delivery).keys())


def content_of(webhook: Webhook, delivery: Delivery, sources: PayloadSources) -> DeliveryContent:
    """Build the content of an attempt. Raises Unfillable if there is nothing to send."""
    payload, texts = delivery.payload, _stored_texts(delivery)
    if delivery.event_id is not None and needs_conversion(webhook, delivery):
        values = sources.values(delivery)
        payload = payload or rendered(webhook, values)
        texts = {**texts_of(values, macros_of(webhook)), **texts}
    if delivery.event_id is None and webhook.preset in PLATFORMS:
        raise Unfillable("it is no conversion", NOT_TOLD)
    if payload is not None and delivery.event_id is None:
        payload = as_chat(webhook.preset, webhook.payload_template, payload)
    if payload is None:
        raise Unfillable("the event is no longer stored")
    return filled_content(webhook, payload, texts)


async def complete(webhook: Webhook, delivery: Delivery, payloads: PayloadLoader) -> Delivery:
    """Return a delivery of clicks with their list as its payload, if any can be sent.

    It is made for each attempt: clicks stay as they are, and 500 are much to store.
    """
    if delivery.click_ids is None:
        return delivery
    parts, size, packed = list[str](), 0, delivery.click_ids
    ids = [UUID(bytes=packed[at : at + 16]) for at in range(0, len(packed), 16)]
    sources = await payloads.load((), ids)
    for number, click in enumerate(sources.clicks[one] for one in ids if one in sources.clicks):
        if number % 20 == 0:
            await asyncio.sleep(0)  # lets other tasks run: 20 take a millisecond
        with contextlib.suppress(Unfillable):
            part = rendered(webhook, sources.values_of_click(click))
            size += len(part)
            parts += [part] if size <= MAX_CLICKS_BYTES else []
    skipped = (delivery.skipped or 0) + (delivery.clicks or 0) - len(parts)
    payload = list_of_clicks(parts, skipped) if parts else None
    return msgspec.structs.replace(delivery, payload=payload)


def list_of_clicks(clicks: Sequence[str], skipped: int) -> str:
    return f'{{"clicks":[{",".join(clicks)}],"skipped":{skipped}}}'


def rendered(webhook: Webhook, values: MacroValues) -> str:
    """Render the webhook's template. Raises Unfillable as `render`."""
    preset = webhook.preset
    payload = render(webhook.payload_template, values, escape_of(preset))
    if preset in PLATFORMS:
        return fitted_event(preset, payload, values.get("consent"))
    return fitted(preset, payload.decode())


def filled_content(webhook: Webhook, payload: str, texts: Mapping[str, str]) -> DeliveryContent:
    """Fill URL and headers with these texts. Raises Unfillable if they cannot be sent."""
    target = target_template(webhook.target_url)
    url = target.fill(texts)
    return DeliveryContent(
        payload=payload,
        url=url,
        headers=fill_headers(parsed_headers(webhook.headers), texts),
        texts=texts,
        shown_url=url if target.macros else None,
    )


def texts_of(values: MacroValues, macros: Collection[str]) -> dict[str, str]:
    return {name: as_text(values.get(name)) for name in sorted(macros)}


def macros_of(webhook: Webhook) -> frozenset[str]:
    """Return the macros outside of the payload, and what says how old an ad platform's event is."""
    headers = macros_in(parsed_headers(webhook.headers))
    age = {AGE} if webhook.preset in PLATFORMS else frozenset[str]()
    return target_template(webhook.target_url).macros | headers | age


def _stored_texts(delivery: Delivery) -> dict[str, str]:
    return msgspec.json.decode(delivery.macros or "{}", type=dict[str, str])
