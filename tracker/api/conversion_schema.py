"""The requests and answers of `/api/conversions`."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.api.click_records import ClickLink, ConversionClick
from tracker.api.deliveries import DeliveryRecord
from tracker.api.feed_schema import FeedQuery, Ids, Texts
from tracker.api.limits import MAX_FILTER_VALUES
from tracker.api.report_filters import event_of
from tracker.api.schema import Timestamp
from tracker.conversions.document import Status
from tracker.conversions.rules import Rule
from tracker.feeds.arrivals import FeedName
from tracker.reports.query import Value

StatusName = Literal["pending", "attributed", "no_click", "foreign_click", "duplicate", "refused"]


class ListConversions(FeedQuery, kw_only=True):
    """The page of conversions to list."""

    FEED = FeedName.CONVERSIONS

    status: Annotated[
        list[StatusName], Meta(max_length=MAX_FILTER_VALUES, description="default: all")
    ] = field(default_factory=list)
    event: Annotated[
        Texts, Meta(description="ids of event configurations; none: conversions without one")
    ] = field(default_factory=list)
    link_id: Annotated[Ids, Meta(description="another name of link")] = field(default_factory=list)
    event_config_id: Annotated[Ids, Meta(description="another name of event")] = field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        self.event = [event_of(one) for one in self.event]
        super().__post_init__()

    def values(self) -> dict[str, Sequence[Value]]:
        """Return the values of each dimension that is filtered by."""
        named: dict[str, Sequence[Value]] = {
            "link": [*self.link, *self.link_id],
            "event": [*self.event, *map(str, self.event_config_id)],
        }
        return {**super().values(), **{name: values for name, values in named.items() if values}}

    def statuses(self) -> Sequence[Status]:
        """Return the states that are filtered by."""
        return [Status(one) for one in dict.fromkeys(self.status)]


class ConversionEventConfig(msgspec.Struct, kw_only=True):
    """The event configuration of a conversion."""

    id: UUID
    name: str


class ConversionRecord(msgspec.Struct, kw_only=True):
    """A conversion. The fields of its click are null while it has none."""

    event_id: int
    at: Annotated[Timestamp, Meta(description="when it was received")]
    status: Annotated[
        StatusName,
        Meta(
            description="attributed: it has its click's data; pending: its click is not stored; "
            "no_click: it names none; foreign_click: its click is another account's; "
            "duplicate: its transaction id has counted before; refused: it breaks a rule"
        ),
    ]
    refused: Annotated[Rule | None, Meta(description="the rule of the account that it breaks")]
    event_config: ConversionEventConfig | None
    click_id: UUID | None
    link: ClickLink | None
    value: Decimal | None
    payout: Decimal | None
    transaction_id: str | None
    country: str | None
    device: str | None
    browser: str | None
    os: str | None
    bot: Annotated[str | None, Meta(description="why its click counts as a bot's")]


class DeliveryCounts(msgspec.Struct, kw_only=True):
    """The deliveries of a conversion to the account's webhooks, by status."""

    due: int = 0
    delivered: int = 0
    failed: int = 0
    cancelled: int = 0


ClickOfConversion = Annotated[
    ConversionClick | None, Meta(description="null if it is not stored, or not the account's")
]


class ListedConversion(ConversionRecord, kw_only=True):
    """A conversion with its click and the number of its deliveries."""

    click: ClickOfConversion
    deliveries: Annotated[
        DeliveryCounts | None, Meta(description="null without the scope `webhooks:read`")
    ]


class ConversionDelivery(DeliveryRecord, kw_only=True):
    """A delivery of a conversion, with its webhook."""

    webhook_id: UUID
    webhook_name: str


class ConversionDetail(ConversionRecord, kw_only=True):
    """A conversion with its click, its metadata and its deliveries."""

    click: ClickOfConversion
    metadata: Annotated[str | None, Meta(description="JSON text, as it is stored")]
    deliveries: Annotated[
        list[ConversionDelivery] | None,
        Meta(description="one for each webhook; null without the scope `webhooks:read`"),
    ]
