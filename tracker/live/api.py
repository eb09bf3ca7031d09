"""`/api/live`: a stream of new clicks and conversions."""

from typing import Final

from tracker.live.services import LiveCall
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints, MediaType
from tracker.web.event_stream import EventStream
from tracker.web.openapi_parts import TEXT, OpenApiPart
from tracker.web.schema import AccountQuery

endpoint = Endpoints("live")

EVENT: Final[OpenApiPart] = {
    "type": "object",
    "properties": {
        "event": TEXT | {"enum": ["state", "clicks", "conversions", "end"]},
        "data": TEXT | {"description": "JSON in one line"},
    },
    "required": ["event", "data"],
}


@endpoint(
    "GET",
    "/api/live",
    # Clicks show single visitors, as in the feed.
    "conversions:read",
    answer=MediaType("text/event-stream", EVENT),
    operation_id="streamNewRows",
)
async def watch(call: LiveCall[AccountQuery, Nothing]) -> EventStream:
    """Watch clicks and conversions as soon as they are stored, as Server-Sent Events."""
    return EventStream(call.services.live.open(call.account_id))
