"""The requests and answers of `/api/conversions`."""

from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, field, structs

from tracker.calendar import Calendar
from tracker.conversions.corrections.status import Status
from tracker.conversions.document import Attribution
from tracker.conversions.postbacks.parameters import MAX_TRANSACTION_ID_CHARACTERS
from tracker.conversions.postbacks.words import plain_word
from tracker.conversions.rules import Rule
from tracker.feeds.api.click_records import (
    ClickLink,
    ConversionClick,
    DecidedBy,
    ParentLink,
    SentParameters,
)
from tracker.feeds.api.correction_schema import ConversionChange
from tracker.feeds.api.schema import FeedQuery
from tracker.feeds.arrivals import FeedName
from tracker.feeds.filter import FeedFilter
from tracker.reports.dimensions import EVENT, FILTERS
from tracker.web.limits import MAX_FILTER_VALUES
from tracker.web.schema import FilterText, Timestamp
from tracker.webhooks.api.deliveries import DeliveryRecord

AttributionName = Literal[
    "pending",
    "attributed",
    "no_click",
    "foreign_click",
    "late",
    "too_fast",
    "duplicate",
    "refused",
    "test",
]
_StatusWord = Literal["approved", "rejected", "refunded", AttributionName]
_STATUSES = frozenset(Status)


class ListConversions(FeedQuery, kw_only=True):
    """The page of conversions to list."""

    FEED = FeedName.CONVERSIONS

    status: Annotated[
        list[_StatusWord],
        Meta(
            max_length=MAX_FILTER_VALUES,
            description="default: all. Words of attribution but pending count as that filter",
        ),
    ] = field(default_factory=list)
    attribution: Annotated[
        list[AttributionName], Meta(max_length=MAX_FILTER_VALUES, description="default: all")
    ] = field(default_factory=list)
    currency: Annotated[
        list[FilterText],
        Meta(
            max_length=MAX_FILTER_VALUES,
            description="ISO 4217; `units` if the account has no currency",
        ),
    ] = field(default_factory=list)
    event: Annotated[
        list[FilterText], Meta(max_length=MAX_FILTER_VALUES, description=FILTERS[EVENT].about)
    ] = field(default_factory=list)
    unknown_word: Annotated[
        FilterText | None, Meta(description="the word of a status, while it stands for it")
    ] = None
    click_id: Annotated[
        UUID | None, Meta(description="the click that conversions name, stored or not")
    ] = None
    transaction_id: Annotated[
        str | None,
        Meta(
            description="the whole transaction id, as sent",
            extra_json_schema={"maxLength": MAX_TRANSACTION_ID_CHARACTERS},
        ),
    ] = None

    def filter(self, calendar: Calendar, host: str) -> FeedFilter:
        return structs.replace(
            super().filter(calendar, host),
            statuses=[Status(one) for one in self.status if one in _STATUSES],
            attributions=[
                Attribution(one)
                for one in dict.fromkeys([*self.status, *self.attribution])
                if one in self.attribution or one not in _STATUSES
            ],
            currencies=[one.upper() for one in self.currency],
            unknown_word=self.unknown_word and plain_word(self.unknown_word),
            click_id=self.click_id,
            transaction_id=self.transaction_id,
        )


class ConversionEventConfig(msgspec.Struct, kw_only=True):
    """The event configuration of a conversion."""

    id: UUID
    name: str


class ConversionRecord(msgspec.Struct, kw_only=True):
    """A conversion. The fields of its click are null while it has none."""

    event_id: int
    at: Annotated[Timestamp, Meta(description="when it occurred, if its sender says so")]
    received_at: Timestamp
    status: Annotated[Status, Meta(description="as its sender reports it")]
    unknown_word: Annotated[
        str | None, Meta(description="the word of a status that the event configuration lacks")
    ]
    attribution: Annotated[
        AttributionName,
        Meta(
            description="attributed: it has its click's data; pending: its click is not stored "
            "yet; no_click: it names none; foreign_click: its click is another account's; "
            "duplicate: another conversion has its transaction id; refused: it breaks a rule; "
            "test: it or its click is a test of the account, and does not count"
        ),
    ]
    refused: Annotated[Rule | None, Meta(description="the rule of the account that it breaks")]
    event_config: ConversionEventConfig | None
    click_id: UUID | None
    link: ClickLink | None
    value: Decimal | None
    payout: Decimal | None
    refunded_value: Annotated[Decimal | None, Meta(description="how much of the value")]
    currency: Annotated[
        str | None, Meta(description="of its money; null: the account has no currency")
    ]
    transaction_id: str | None
    consent: Annotated[str | None, Meta(description="granted or denied, if its sender says so")]
    country: str | None
    device: str | None
    browser: str | None
    os: str | None
    bot: Annotated[str | None, Meta(description="why its click is a bot's")]
    warnings: Annotated[
        list[str], Meta(description="of its answer, and of repeats of its transaction id")
    ]
    repeats: Annotated[
        int,
        Meta(description="how often its transaction id was sent again; a flood is not counted"),
    ]
    last_repeat_at: Timestamp | None
    rule: DecidedBy
    variant: DecidedBy
    parent_link_id: ParentLink
    parameters: SentParameters


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
    """A conversion with its click, its metadata, its changes and its deliveries."""

    click: ClickOfConversion
    metadata: Annotated[str | None, Meta(description="JSON text, as it is stored")]
    changes: Annotated[
        list[ConversionChange],
        Meta(description="the original, and each restatement; empty if there is none"),
    ]
    deliveries: Annotated[
        list[ConversionDelivery] | None,
        Meta(description="also of its changes; null without the scope `webhooks:read`"),
    ]
