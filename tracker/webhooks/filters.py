"""The filter of a webhook: of which conversions, clicks and links it is told. Pure."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Final
from uuid import UUID
from zlib import crc32

import msgspec
from msgspec import Meta

from tracker.clicks.document import ClickDocument
from tracker.conversions.corrections.status import Status
from tracker.conversions.postbacks.parameters import MAX_VALUE
from tracker.syntax.amounts import checked_amount
from tracker.webhooks.delivery import Kind

_Ids = Annotated[tuple[UUID, ...], Meta(max_length=100)]


class Filter(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a webhook is told of, as it is then. Empty fields filter nothing.

    Tags and links are of conversions, clicks and links; the other fields are of one of them.
    """

    statuses: Annotated[
        tuple[Status, ...],
        Meta(
            description="default: all; without the event conversion.updated only approved, and "
            "those that are approved later are sent then"
        ),
    ] = ()
    event_config_ids: Annotated[_Ids, Meta(description="their event configurations")] = ()
    tags: Annotated[_Ids, Meta(description="ids of tags; their link has one of them")] = ()
    links: Annotated[_Ids, Meta(description="ids of short links")] = ()
    sample: Annotated[
        float,
        Meta(gt=0, le=1, description="the share of clicks, chosen at random by their id"),
    ] = 1.0
    bots: Annotated[bool, Meta(description="clicks of bots too")] = False
    min_value: Annotated[
        Decimal | None,
        Meta(
            description="in the account's currency; conversions in others are not filtered by it",
            extra_json_schema={"minimum": 0, "maximum": MAX_VALUE},
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.min_value is not None:
            checked_amount("filter.min_value", self.min_value, MAX_VALUE)

    def matches(self, conversion: Mapping[str, Any], tags: Collection[bytes]) -> bool:
        """Return whether a stored conversion matches. `tags` are those of its link."""
        if self.statuses and conversion.get("reported", Status.APPROVED) not in self.statuses:
            return False
        config_id = conversion.get("event_config_id")
        if self.event_config_ids and config_id not in {one.bytes for one in self.event_config_ids}:
            return False
        if not self.has_link(conversion.get("link_id"), tags):
            return False
        # Money is never converted, so the limit says nothing of other currencies.
        if self.min_value is None or "currency" in conversion:
            return True
        value = conversion["value"]
        return value is not None and value.to_decimal() >= self.min_value

    def has_link(self, link_id: bytes | None, tags: Collection[bytes]) -> bool:
        """Return whether a link with these tags matches."""
        if self.links and not any(one.bytes == link_id for one in self.links):
            return False
        return not self.tags or any(one.bytes in tags for one in self.tags)

    def of_clicks(
        self, since: datetime, tags: Mapping[bytes, Collection[bytes]]
    ) -> Callable[[ClickDocument], bool]:
        """Return what tells whether a stored click matches. `tags` are by link."""
        links, tag_ids = ({one.bytes for one in ids} for ids in (self.links, self.tags))
        first_left_out = self.sample * 2**32

        def matches(click: ClickDocument) -> bool:
            return (
                crc32(click["_id"]) < first_left_out
                and click["at"] >= since
                and (self.bots or click["bot"] is None)
                and not click.get("test")
                and (not links or click["link_id"] in links)
                and (not tag_ids or not tag_ids.isdisjoint(tags.get(click["link_id"], ())))
            )

        return matches


NO_FILTER: Final = "{}"


def filter_of(kinds: Collection[str], text: str) -> Filter:
    """Return the filter that holds for a webhook with these kinds of events."""
    found = msgspec.json.decode(text, type=Filter)
    if not found.statuses and Kind.CONVERSION_UPDATED not in kinds:
        found.statuses = (Status.APPROVED,)  # its receiver counts whatever it is told
    return found
