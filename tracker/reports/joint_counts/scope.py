"""The scope of a report: an account or one of its links, and the calendar it counts in."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from tracker.accounts import parameters
from tracker.accounts.time_zones import FIELDS, zones_from_row
from tracker.calendar import Calendar
from tracker.clicks.document import HAS_PARENTS, OWN_PARAMETERS
from tracker.links.rules.rule import DECIDES
from tracker.reports.counted import COUNTED_DIMENSIONS, DECIDED_DIMENSIONS
from tracker.reports.dimensions import OWN_PREFIX, PARENT
from tracker.reports.rollups.layout import rollups_of
from tracker.stores.mongodb.reads import MongoReads


class ReportScope(NamedTuple):
    """An account, or one of its links.

    `currency` is the account's, if it has one. `has_costs`: costs of periods were entered once.
    `extra` are the account's columns besides those of every account (`extra_of`), `own` those of
    the sender's own parameters by name.
    """

    account_id: UUID
    calendar: Calendar
    link_id: UUID | None = None
    currency: str | None = None
    has_costs: bool = False
    extra: Sequence[str] = ()
    own: Mapping[str, str] = MappingProxyType({})

    @property
    def dimensions(self) -> Sequence[str]:
        """Return every column of the account's joint counts."""
        return (*COUNTED_DIMENSIONS, *self.extra)

    def dimension_of(self, field: str, name: str) -> str:
        """Return the dimension that the API calls `name`.

        Raises BadRequest, which names the `field`, if it is an own parameter of other accounts.
        """
        own = name.removeprefix(OWN_PREFIX)
        return name if own == name else parameters.field_in(self.own, own, field)

    def rollups(self, of: str | None = None) -> dict[str, Any]:
        """Return the filter for its rollups, of the `account` or of each `link`."""
        return rollups_of(self.account_id, self.calendar.zone, of, self.link_id)

    def documents(self) -> dict[str, Any]:
        found: dict[str, Any] = {"account_id": self.account_id}
        return found if self.link_id is None else {**found, "link_id": self.link_id}


async def scope_of(reader: MongoReads, account_id: UUID) -> ReportScope:
    fields = (*FIELDS, "currency", "has_costs", parameters.FIELD, DECIDES, HAS_PARENTS)
    row = await reader.find_one("accounts", {"_id": account_id}, fields) or {}
    return ReportScope(
        account_id,
        zones_from_row(row).calendar,
        currency=row.get("currency"),
        has_costs="has_costs" in row,
        extra=extra_of(row),
        own=parameters.fields_of(parameters.positions_in(row)),
    )


def extra_of(row: Mapping[str, Any]) -> Sequence[str]:
    """Return the columns that an account has used, by its document. It never loses one again."""
    own = OWN_PARAMETERS[: len(parameters.positions_in(row))]
    decided = DECIDED_DIMENSIONS if DECIDES in row else ()
    return (*own, *decided, *((PARENT,) if HAS_PARENTS in row else ()))
