"""Test clicks and test conversions: an account makes them, and they never count.

Only these endpoints can make tests, so no visitor can hide a click as a test.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.clicks.visit import ClientHeaders, Visit
from tracker.conversions.api.event_configs import CONFIGS
from tracker.conversions.postbacks.parameters import MAX_VALUE, checked_value
from tracker.errors import BadRequest, NotFound
from tracker.feeds.services import FeedCall
from tracker.links.api.short_links import find_own
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints

endpoint = Endpoints("feeds")


class RecordedTestClick(msgspec.Struct, kw_only=True):
    """A recorded test click."""

    click_id: UUID
    location: Annotated[
        str, Meta(description="the URL of the redirect: the destination, with the click_id")
    ]


class SendTestConversion(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The test conversion to record."""

    click_id: Annotated[
        UUID | UnsetType,
        Meta(description="a stored click of the account, a test or not"),
    ] = UNSET
    # Any, because msgspec would accept a number in a string too.
    value: Annotated[
        Any,
        Meta(
            description="required if the payout type is RevShare",
            extra_json_schema={"type": "number", "minimum": -MAX_VALUE, "maximum": MAX_VALUE},
        ),
    ] = UNSET

    def __post_init__(self) -> None:
        if self.value is not UNSET:
            self.value = checked_value("value", self.value)


class RecordedTestConversion(msgspec.Struct, kw_only=True):
    """A recorded test conversion."""

    event_id: int
    status: Annotated[Literal["test"], Meta(description="its state, as conversions show it")]


@endpoint(
    "POST",
    "/api/short-links/{id}/test-click",
    "links:write",
    limited=True,
    operation_id="recordTestClick",
)
async def test_click(call: FeedCall[Nothing, Nothing]) -> RecordedTestClick:
    """Record a click as a test, which is shown and never counted.

    Raises BadRequest if visitors of the link get 404.
    """
    link = await find_own(call, call.services.links.links)
    client = call.client
    headers = ClientHeaders.from_headers(client.user_agent, "", "", client.edge_country)
    visit = Visit("GET", link.domain_name, link.slug, "", client.address, headers)
    recorded = await call.services.clicks.redirect.record_test(visit, link)
    if recorded is None:
        state = "archived" if link.archived else "paused"
        raise BadRequest(f"short link: is {state}, so its visitors get 404")
    click_id, location = recorded
    return RecordedTestClick(click_id=click_id, location=location)


@endpoint(
    "POST",
    "/api/event-configs/{id}/test-conversion",
    "event_configs:write",
    example={"value": 12.5},
    operation_id="recordTestConversion",
)
async def test_conversion(call: FeedCall[Nothing, SendTestConversion]) -> RecordedTestConversion:
    """Record a conversion as a test, which is shown and never counted or delivered.

    Raises NotFound if the account has no such click, BadRequest if the configuration is paused.
    """
    services = call.services
    config = CONFIGS.checked(call, await services.conversions.event_configs.find(call.ids[0]))
    if not config.active:
        raise BadRequest("event config: is paused, so its postback key is refused")
    click_id = None if call.body.click_id is UNSET else call.body.click_id
    if click_id and not await services.click_feed.find_all(call.account_id, [click_id]):
        raise NotFound("click_id: not found; a click is stored a moment after it was made")
    value = None if call.body.value is UNSET else call.body.value
    event_id = await services.conversions.recorder.record_test(config, click_id, value)
    return RecordedTestConversion(event_id=event_id, status="test")
