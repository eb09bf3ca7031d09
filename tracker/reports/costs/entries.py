"""The costs of periods, as reports read them."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.clicks.sources import SOURCES
from tracker.errors import BadRequest
from tracker.reports.dimensions import LINK, TAG
from tracker.reports.rollups.money import billionths
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.stores.mongodb.reads import ROWS_AT_ONCE, MongoReads

COUNTED: Final[Mapping[str, str]] = {
    LINK: LINK,
    TAG: LINK,
    **{source.name: source.name for source in SOURCES},
}
"""The filters that a cost may have, and the counted dimension of each. An account's own parameters
are filters too (`answers/costs`)."""

MAX_IN_REPORT: Final = 20_000
"""Costs that one report spreads: 0.1 s."""

_FIELDS: Final = ("first", "last", "filter", "value", "amount", "currency")


class PeriodCost(NamedTuple):
    """What the clicks of a period that pass a filter have cost, in billionths.

    `first` and `last` are days such as `2026-11-28`, or hours as clocks show them, such as
    `2026-11-28T09`. Both are included. Without `currency` it is in the account's.
    """

    id: UUID
    first: str
    last: str
    filter: str
    value: str
    amount: int
    currency: str | None = None

    @property
    def is_hourly(self) -> bool:
        return "T" in self.first

    @property
    def key(self) -> str:
        """Return what no other cost of the account has."""
        return " ".join(self[1:5])

    @property
    def name(self) -> str:
        period = self.first if self.first == self.last else f"{self.first} to {self.last}"
        return f"{period}, {self.filter} {self.value}"

    @property
    def days(self) -> tuple[str, str]:
        return self.first[:10], self.last[:10]


def of_period(account_id: UUID, first: date, last: date) -> dict[str, Any]:
    """Return the filter of an account's costs whose period has any of these days."""
    # "T~" is after all hours of a day.
    days = {"first": {"$lte": f"{last.isoformat()}T~"}, "last": {"$gte": first.isoformat()}}
    return {"account_id": account_id, **days}


async def costs_in(
    reader: MongoReads, account_id: UUID, first: date, last: date, at_most: int = MAX_IN_REPORT
) -> list[PeriodCost]:
    """Return the costs of days. Raises BadRequest if there are more than `at_most`."""
    of_days = of_period(account_id, first, last)
    options: dict[str, Any] = {"limit": at_most + 1, "batch_size": ROWS_AT_ONCE}
    reader = reader.with_binary_ids()
    found = await reader.find("costs", with_stored_ids(of_days), _FIELDS, hint="by_days", **options)
    if len(found) > at_most:
        raise BadRequest(f"at most {at_most:,} costs in one report; ask for fewer days")
    return list(map(cost_of, found))


def cost_of(row: Mapping[str, Any]) -> PeriodCost:
    """Return the cost in a document with a binary id."""
    of_clicks = row["first"], row["last"], row["filter"], row["value"]
    return PeriodCost(
        UUID(bytes=row["_id"]), *of_clicks, billionths(row["amount"]), row["currency"]
    )
