"""The requests and answers of `/api/costs`, and the rules of their fields."""

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.access.principal import Actor
from tracker.clicks.enrich import MAX_OWN_CHARACTERS
from tracker.costs.store import Outcome
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.reports.costs.entries import COUNTED, PeriodCost
from tracker.reports.dimensions import FILTERS, OWN_PREFIX
from tracker.reports.filters import Filter
from tracker.reports.rollups.money import sum_in_billionths
from tracker.reports.series import MAX_HOURLY_DAYS
from tracker.syntax.amounts import DECIMALS, checked_amount
from tracker.web.limits import MAX_REPORT_DAYS, MAX_TEXT_CHARACTERS
from tracker.web.schema import AccountId, AccountPage, Timestamp, parse_day, trimmed

MAX_ROWS: Final = 1000
MAX_AMOUNT: Final = 10**12

_HOUR: Final = re.compile(r"T([01]\d|2[0-3])\Z", re.ASCII)
_CURRENCY: Final = re.compile(r"[A-Za-z]{3}", re.ASCII)

_NAMES: Final = f"{', '.join(COUNTED)}, {OWN_PREFIX}<name>"

PeriodEnd = Annotated[
    str,
    Meta(
        description="a day of the account, or an hour as its clocks show it; included",
        examples=["2026-11-28", "2026-11-28T09"],
    ),
]
CostFilter = Annotated[
    dict[str, str],
    Meta(
        min_length=1,
        max_length=1,
        description=f"one of {_NAMES}, with a value that filters of reports take",
        examples=[{"utm_campaign": "spring"}],
    ),
]
AmountIn = Annotated[
    Any,  # msgspec would accept a number in a string too
    Meta(
        description=f"for the whole period; at most {DECIMALS} decimals",
        extra_json_schema={"type": "number", "minimum": 0, "maximum": MAX_AMOUNT},
    ),
]
Currency = Annotated[str | None, Meta(description="ISO 4217; null: the account's")]


class NewCost(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the clicks of a period that pass a filter have cost."""

    first: PeriodEnd = field(name="from")
    last: PeriodEnd = field(name="to")
    filter: CostFilter
    amount: AmountIn
    currency: Currency = None

    def __post_init__(self) -> None:
        _check_period(self.first, self.last)
        [(name, value)] = self.filter.items()
        if name not in COUNTED and not name.startswith(OWN_PREFIX):
            raise ValueError(f"filter: must have one of {_NAMES}")
        self.filter = {name: _value(name, value)}
        self.amount = _amount(self.amount)
        if self.currency is not None:
            if not _CURRENCY.fullmatch(self.currency):
                raise ValueError("currency: must be three letters such as EUR")
            self.currency = self.currency.upper()

    def stored(self, own: str | None) -> PeriodCost:
        """Return the cost to store for an account whose currency is `own`."""
        [(name, value)] = self.filter.items()
        currency = None if self.currency == own else self.currency
        amount = sum_in_billionths(self.amount)
        return PeriodCost(new_id(), self.first, self.last, name, value, amount, currency)


def _check_period(first: str, last: str) -> None:
    days = []
    for name, text in (("from", first), ("to", last)):
        try:
            days.append(parse_day(name, text[: -len("T00")] if _HOUR.search(text) else text))
        except ValueError:
            rule = "must be a day such as 2026-11-28, or an hour such as 2026-11-28T09"
            raise ValueError(f"{name}: {rule}") from None
    if len(first) != len(last):
        raise ValueError("to: must be a day if from is one, else an hour")
    if first > last:
        raise ValueError("from: must not be after to")
    most = MAX_HOURLY_DAYS if "T" in first else MAX_REPORT_DAYS
    if (days[1] - days[0]).days >= most:
        raise ValueError(f"to: at most {most} days, from and to included")


def _value(name: str, text: str) -> str:
    filter_ = FILTERS.get(name, Filter())
    if filter_.are_ids:
        try:
            return str(UUID(text))
        except ValueError:
            raise ValueError(f"filter.{name}: must be an id") from None
    try:
        limit = MAX_TEXT_CHARACTERS if name in FILTERS else MAX_OWN_CHARACTERS
        text = trimmed(f"filter.{name}", text, limit)
    except BadRequest as error:
        raise ValueError(error.message) from None
    return text if filter_.canonical is None else filter_.canonical(text)


def _amount(value: object) -> Decimal:
    try:
        return checked_amount("amount", value, MAX_AMOUNT)
    except BadRequest as error:
        raise ValueError(error.message) from None


class PutCosts(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The costs to store. One with the same from, to and filter is replaced."""

    account_id: AccountId = field(name="accountId")
    rows: Annotated[list[NewCost], Meta(min_length=1, max_length=MAX_ROWS)]


class StoredCost(msgspec.Struct, kw_only=True):
    """What has become of a row."""

    id: UUID
    outcome: Outcome


class StoredCosts(msgspec.Struct, kw_only=True):
    """The costs in the order of the request."""

    rows: list[StoredCost]


class ListCosts(AccountPage, kw_only=True):
    """The costs to list."""

    first: Annotated[str, Meta(description="only costs of this day or later ones")] = field(
        default=date.min.isoformat(), name="from"
    )
    last: Annotated[str, Meta(description="only costs of this day or earlier ones")] = field(
        default=date.max.isoformat(), name="to"
    )

    def __post_init__(self) -> None:
        for name, text in (("from", self.first), ("to", self.last)):
            parse_day(name, text)


class RestoreCost(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The earlier amount to restore."""

    revision: Annotated[int, Meta(ge=1, description="of the history")]


class CostAmount(msgspec.Struct, kw_only=True):
    """An amount, who has sent it and when."""

    amount: Decimal
    currency: Currency
    revision: Annotated[int, Meta(description="1 is the first amount; each change adds 1")]
    updated_at: Timestamp
    actor: Actor


class CostRecord(CostAmount, kw_only=True):
    """A cost of a period."""

    id: UUID
    account_id: UUID
    first: PeriodEnd = field(name="from")
    last: PeriodEnd = field(name="to")
    filter: CostFilter
    name: Annotated[str, Meta(description="the name of the filter's value, for people")]
    clicks: Annotated[
        int, Meta(description="clicks of the period that pass the filter; 0: it is in no row")
    ]
    history: Annotated[list[CostAmount], Meta(description="earlier amounts, oldest first")]
