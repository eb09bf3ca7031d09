"""The clicks and conversions that a batch has brought to an account, as drains publish them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import msgspec
from bson import Decimal128

from tracker.clicks.document import ClickDocument
from tracker.conversions.document import EventDocument
from tracker.db.documents import owner_id

MAX_ROWS: Final = 20
"""Clicks, and conversions, that are shown of a batch: the last ones."""


class ClickValues(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a click that are published and shown alike. `referrer` is the host."""

    id: UUID
    domain: str
    country: str
    device: str
    browser: str
    os: str
    bot: str | None
    referrer: str | None


class ClickRow(ClickValues, frozen=True, kw_only=True):
    """A click that landed."""

    at: datetime
    link_id: UUID


class ConversionValues(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a conversion that are published and shown alike.

    Without its click it has no country and device.
    """

    status: str
    click_id: UUID | None
    value: Decimal | None
    payout: Decimal | None
    country: str | None
    device: str | None


class ConversionRow(ConversionValues, frozen=True, kw_only=True):
    """A conversion that landed."""

    event_id: int
    at: datetime
    link_id: UUID | None
    event_config_id: UUID | None


class Landed(msgspec.Struct, kw_only=True):
    """The clicks and conversions of an account in a batch: how many, and the last of them.

    `clicks` has those of bots too, which `bots` counts.
    """

    account_id: UUID
    clicks: int = 0
    bots: int = 0
    click_rows: list[ClickRow] = msgspec.field(default_factory=list)
    conversions: int = 0
    conversion_rows: list[ConversionRow] = msgspec.field(default_factory=list)

    def add(self, other: "Landed") -> None:
        """Add what another batch has brought."""
        self.clicks += other.clicks
        self.bots += other.bots
        self.click_rows = [*self.click_rows, *other.click_rows][-MAX_ROWS:]
        self.conversions += other.conversions
        self.conversion_rows = [*self.conversion_rows, *other.conversion_rows][-MAX_ROWS:]


def landed_of(
    clicks: Sequence[ClickDocument], events: Sequence[EventDocument], accounts: frozenset[bytes]
) -> Iterator[Landed]:
    """Yield what each of these accounts has in a batch, if it has anything."""
    clicks_of: dict[bytes, list[ClickDocument]] = {account: [] for account in accounts}
    events_of: dict[bytes, list[EventDocument]] = {account: [] for account in accounts}
    for click in clicks:
        if click["account_id"] in clicks_of:
            clicks_of[click["account_id"]].append(click)
    for event in events:
        if event["account_id"] in events_of:
            events_of[event["account_id"]].append(event)
    for account in accounts:
        own, converted = clicks_of[account], events_of[account]
        if own or converted:
            yield Landed(
                account_id=owner_id(account),
                clicks=len(own),
                bots=sum(click["bot"] is not None for click in own),
                click_rows=[_click_row(click) for click in own[-MAX_ROWS:]],
                conversions=len(converted),
                conversion_rows=[_conversion_row(event) for event in converted[-MAX_ROWS:]],
            )


def encoded(landed: Landed) -> bytes:
    """Return the message of the channel."""
    return msgspec.msgpack.encode(landed)


def decoded(message: bytes) -> Landed:
    """Return what a message says. Raises msgspec.MsgspecError if it is not one."""
    return msgspec.msgpack.decode(message, type=Landed)


def _click_row(click: ClickDocument) -> ClickRow:
    return ClickRow(
        id=UUID(bytes=click["_id"]),
        at=click["at"],
        link_id=owner_id(click["link_id"]),
        domain=click["domain_name"],
        country=click["country"],
        device=click["device"],
        browser=click["browser"],
        os=click["os"],
        bot=click["bot"],
        referrer=click.get("referrer_host"),
    )


def _conversion_row(event: EventDocument) -> ConversionRow:
    fields: Mapping[str, Any] = event
    return ConversionRow(
        event_id=fields["_id"],
        at=fields["at"],
        status=str(fields["status"]),
        click_id=_id(fields["click_id"]),
        link_id=_id(fields.get("link_id")),
        event_config_id=_id(fields["event_config_id"]),
        value=_money(fields["value"]),
        payout=_money(fields["payout"]),
        country=fields.get("country"),
        device=fields.get("device"),
    )


def _id(stored: bytes | None) -> UUID | None:
    return None if stored is None else UUID(bytes=bytes(stored))


def _money(stored: Decimal128 | None) -> Decimal | None:
    return None if stored is None else stored.to_decimal()
