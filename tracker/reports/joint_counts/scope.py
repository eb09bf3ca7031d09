"""The scope of a report: an account or one of its links, and the calendar it counts in."""

from typing import Any, NamedTuple
from uuid import UUID

from tracker.accounts.time_zones import FIELDS, zones_from_row
from tracker.calendar import Calendar
from tracker.reports.rollups.layout import rollups_of
from tracker.stores.mongodb.reads import MongoReads


class ReportScope(NamedTuple):
    """An account, or one of its links.

    `currency` is the account's, if it has one. `has_costs`: costs of periods were entered once.
    """

    account_id: UUID
    calendar: Calendar
    link_id: UUID | None = None
    currency: str | None = None
    has_costs: bool = False

    def rollups(self, of: str | None = None) -> dict[str, Any]:
        """Return the filter for its rollups, of the `account` or of each `link`."""
        return rollups_of(self.account_id, self.calendar.zone, of, self.link_id)

    def documents(self) -> dict[str, Any]:
        found: dict[str, Any] = {"account_id": self.account_id}
        return found if self.link_id is None else {**found, "link_id": self.link_id}


async def scope_of(reader: MongoReads, account_id: UUID) -> ReportScope:
    fields = (*FIELDS, "currency", "has_costs")
    row = await reader.find_one("accounts", {"_id": account_id}, fields) or {}
    return ReportScope(
        account_id,
        zones_from_row(row).calendar,
        currency=row.get("currency"),
        has_costs="has_costs" in row,
    )
