"""`/api/live`: clicks and conversions as they land."""

from typing import Final

import msgspec
from msgspec import field

from tracker.api.endpoint import Call, Endpoint, MediaType, Nothing
from tracker.api.event_stream import EventStream
from tracker.api.openapi.parts import TEXT, Described
from tracker.api.schema import AccountId

EVENT: Final[Described] = {
    "type": "object",
    "properties": {
        "event": TEXT | {"enum": ["state", "clicks", "conversions", "end"]},
        "data": TEXT | {"description": "JSON in one line"},
    },
    "required": ["event", "data"],
}


class WatchAccount(msgspec.Struct, kw_only=True):
    """The account to watch."""

    account_id: AccountId = field(name="accountId")


async def watch(call: Call[WatchAccount, Nothing]) -> EventStream:
    """Return the stream of the account's events."""
    return EventStream(call.services.live.open(call.account_id))


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/live",
        # Clicks are of single visitors, as in the feed.
        "conversions:read",
        watch,
        "Watch clicks and conversions as they land, as Server-Sent Events",
        MediaType("text/event-stream", EVENT),
        query=WatchAccount,
    ),
)
