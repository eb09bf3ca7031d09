"""The requests and answers of `/api/conversions`, and the form of their cursors."""

import base64
import binascii
import struct
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.api.deliveries import DeliveryRecord
from tracker.api.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from tracker.api.schema import AccountId, Day, Timestamp, parse_day
from tracker.clock import moment
from tracker.conversions.document import Status
from tracker.conversions.log import MAX_EXAMINED, LogFilter, Position
from tracker.conversions.rules import Rule
from tracker.errors import BadRequest
from tracker.ids import MAX_EVENT_ID

StatusName = Literal["pending", "attributed", "no_click", "foreign_click", "duplicate", "refused"]
_POSITION: Final = struct.Struct(">QQ")
_MAX_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""

_LAST_MOMENT: Final = time(23, 59, 59, 999_000)


def cursor_of(position: Position) -> str:
    """Return a position in the log as a cursor: its time and event id, in base64url."""
    ms = round(position.at.timestamp() * 1000)
    packed = _POSITION.pack(ms, position.event_id)
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def position_of(cursor: str) -> Position:
    """Return the position of a cursor. Raises BadRequest if `cursor_of` never makes it."""
    try:
        packed = base64.b64decode(cursor + "==", altchars=b"-_", validate=True)
        ms, event_id = _POSITION.unpack(packed)
    except (ValueError, binascii.Error, struct.error):
        ms, event_id = 0, 0
    if ms <= _MAX_MS and 1 <= event_id <= MAX_EVENT_ID:
        position = Position(moment(ms), event_id)
        if cursor_of(position) == cursor:
            return position
    raise BadRequest("cursor: must be the next_cursor of a page")


class ListConversions(msgspec.Struct, kw_only=True):
    """The page of conversions to list."""

    account_id: AccountId = field(name="accountId")
    cursor: Annotated[
        str | None, Meta(description="the next_cursor of the page before; default: the newest")
    ] = None
    page_size: Annotated[int, Meta(ge=1, le=MAX_PAGE_SIZE, description="rows on a page")] = field(
        default=DEFAULT_PAGE_SIZE, name="pageSize"
    )
    status: Annotated[
        StatusName | None, Meta(description="only with this status; default: all")
    ] = None
    event_config_id: Annotated[
        UUID | None, Meta(description="only of this event configuration")
    ] = None
    link_id: Annotated[UUID | None, Meta(description="only of this short link")] = None
    first: Annotated[Day | None, Meta(description="the first day, in UTC")] = field(
        default=None, name="from"
    )
    last: Annotated[Day | None, Meta(description="the last day, in UTC; included")] = field(
        default=None, name="to"
    )

    def __post_init__(self) -> None:
        first, last = self._days()
        if first is not None and last is not None and first > last:
            raise ValueError("from: must not be after to")
        self.position()

    def position(self) -> Position | None:
        """Return where the page begins; None for the newest. Raises BadRequest as `position_of`."""
        return None if self.cursor is None else position_of(self.cursor)

    def filter(self) -> LogFilter:
        """Return the filter of the log."""
        first, last = self._days()
        return LogFilter(
            status=None if self.status is None else Status(self.status),
            first=first,
            last=last,
            event_config_id=self.event_config_id,
            link_id=self.link_id,
        )

    def _days(self) -> tuple[datetime | None, datetime | None]:
        first = None if self.first is None else parse_day("from", self.first)
        last = None if self.last is None else parse_day("to", self.last)
        return (
            None if first is None else datetime.combine(first, time(), UTC),
            None if last is None else datetime.combine(last, _LAST_MOMENT, UTC),
        )


class ConversionEventConfig(msgspec.Struct, kw_only=True):
    """The event configuration of a conversion."""

    id: UUID
    name: str


class ConversionLink(msgspec.Struct, kw_only=True):
    """The short link of a conversion's click."""

    id: UUID
    internal_name: str
    slug: str


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
    link: ConversionLink | None
    value: Decimal | None
    payout: Decimal | None
    transaction_id: str | None
    country: str | None
    device: str | None
    browser: str | None
    os: str | None
    bot: Annotated[str | None, Meta(description="why its click counts as a bot's")]


class ConversionPage(msgspec.Struct, kw_only=True):
    """A page of conversions, newest first."""

    rows: list[ConversionRecord]
    next_cursor: Annotated[str | None, Meta(description="cursor of the next page; null: none")]
    searched_to: Annotated[
        Timestamp | None,
        Meta(
            description=f"how far back this page has looked, if it ended after {MAX_EXAMINED:,} "
            "conversions of which few have this event configuration or link; the next page goes on"
        ),
    ]


class ConversionClick(msgspec.Struct, kw_only=True):
    """The click of a conversion, as it is stored."""

    id: UUID
    at: Timestamp
    link_id: UUID
    country: str
    device: str
    browser: str
    os: str
    bot: Annotated[str | None, Meta(description="why it counts as a bot's")]
    referrer: str | None
    query: Annotated[str, Meta(description="the visitor's own parameters")]


class ConversionDelivery(DeliveryRecord, kw_only=True):
    """A delivery of a conversion, with its webhook."""

    webhook_id: UUID
    webhook_name: str


class ConversionDetail(ConversionRecord, kw_only=True):
    """A conversion with its click, its metadata and its deliveries."""

    click: Annotated[
        ConversionClick | None, Meta(description="null if it is not stored, or not the account's")
    ]
    metadata: Annotated[str | None, Meta(description="JSON text, as it is stored")]
    deliveries: Annotated[
        list[ConversionDelivery] | None,
        Meta(description="one for each webhook; null without the scope `webhooks:read`"),
    ]
