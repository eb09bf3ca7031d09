"""The filters of feeds, which are those of reports, as conditions of MongoDB. Pure.

Text from a client is only ever a value in a condition, never an operator or a field name.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from tracker.clicks.country import UNKNOWN
from tracker.conversions.document import Status
from tracker.reports.dimensions import COUNTED, EVENT, NO_KEY
from tracker.reports.query import Bots, Value

Conditions = list[dict[str, Any]]

_OF_NO_CLICK: Final = {"link_id": None}
"""The condition for a conversion that has no values of a click; its field is missing."""


class FeedFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of a feed. Without values and times it lets everything pass.

    - `first` and `last` are times, both included.
    - `values` has the wanted values by dimension, as in reports; `event` is for conversions only.
    - `all_tags`: links must have every tag, not just one.
    - `bots` says as in reports which clicks pass. Conversions are never left out because their
      click looks like a bot's: `exclude` lets them pass.
    - `statuses` are the states of conversions that pass; all if it is empty.
    """

    first: datetime | None = None
    last: datetime | None = None
    values: Mapping[str, Sequence[Value]] = {}
    all_tags: bool = False
    bots: Bots = "include"
    statuses: Sequence[Status] = ()

    @property
    def times(self) -> Conditions:
        """Return the conditions for the time."""
        times = {"$gte": self.first, "$lte": self.last}
        return [{"at": {name: at}} for name, at in times.items() if at is not None]

    @property
    def states(self) -> Conditions:
        """Return the conditions for the state."""
        return [{"status": {"$in": list(self.statuses)}}] if self.statuses else []


_BOTS: Final[Mapping[Bots, Conditions]] = {
    "include": [],
    "exclude": [{"bot": None}],
    "only": [{"bot": {"$ne": None}}],
}


def conditions_for_clicks(wanted: FeedFilter, host: str) -> Conditions:
    """Return the conditions for the values of clicks, without time and link.

    `host` is the name of the default domain.
    """
    values = _stored_values(wanted, host)
    fields = [{COUNTED[name].field: {"$in": values[name]}} for name in values]
    return [*_BOTS[wanted.bots], *fields]


def conditions_for_conversions(wanted: FeedFilter, host: str) -> Conditions:
    """Return the conditions for the values of conversions, without time, state and link.

    `host` is the name of the default domain. A conversion without the values of a click is
    `unknown` in all of them.
    """
    found = list(_BOTS["only"]) if wanted.bots == "only" else []
    for name, values in _stored_values(wanted, host).items():
        own: dict[str, Any] = {COUNTED[name].field: {"$in": values}}
        if COUNTED[name].absent != UNKNOWN and None in values:
            own = {"$and": [own, {"link_id": {"$ne": None}}]}
        found.append({"$or": [own, _OF_NO_CLICK]} if UNKNOWN in values else own)
    if configs := wanted.values.get(EVENT):
        ids = [None if one == NO_KEY[EVENT] else UUID(str(one)) for one in configs]
        found.append({"event_config_id": {"$in": ids}})
    return found


def _stored_values(wanted: FeedFilter, host: str) -> dict[str, list[Value | None]]:
    """Return the values of each filter as documents have them: None for a missing field."""
    found: dict[str, list[Value | None]] = {}
    for name in [one for one in COUNTED if one in wanted.values]:
        found[name] = list(wanted.values[name])
        if COUNTED[name].absent in found[name]:
            found[name].append(None)
        if name == "domain" and host in found[name]:
            found[name].append("")
    return found
