"""The filters of feeds as conditions of MongoDB. They filter as in reports. Pure.

A client's text is only ever a value in a condition, never an operator or a field name.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

import msgspec

from tracker.clicks.document import NO_TEST, ONLY_TESTS
from tracker.conversions.corrections.status import Status
from tracker.conversions.document import Attribution
from tracker.reports.counted import COUNTED_FIELDS, ID_DIMENSIONS, wanted_values
from tracker.reports.dimensions import EVENT, NO_KEY, NO_VALUE
from tracker.reports.query import Bots, FilterValue
from tracker.visitor_dimensions import UNKNOWN

Conditions = list[dict[str, Any]]
Tests = Literal["include", "exclude", "only"]

_OF_NO_CLICK: Final = {"link_id": None}
"""Matches conversions without a click: they lack this field."""


class WantedParameter(NamedTuple):
    """The wanted values of one of the sender's own parameters, and the field that has them."""

    field: str
    name: str
    values: Sequence[str]


class FeedFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of a feed. By default everything passes.

    - `first` and `last` are times, both included.
    - `values` has the wanted values by dimension, as in reports; `event` is for conversions only.
    - `parameters` are the sender's own.
    - `all_tags`: links must have all tags, not just one.
    - `bots` is as in reports, but `exclude` removes no conversions. `tests` is for clicks only.
    - `attributions`, `statuses` and `currencies` are for conversions; all pass if one is empty.
      In `currencies` None is the account's own. `unknown_word` is of conversions too.
    - `id` is that of the row itself.
    - `transaction_id` is searched in `transaction_scopes`, the account's scopes.
    """

    first: datetime | None = None
    last: datetime | None = None
    values: Mapping[str, Sequence[FilterValue]] = {}
    parameters: Sequence[WantedParameter] = ()
    all_tags: bool = False
    bots: Bots = "include"
    tests: Tests = "include"
    id: UUID | int | None = None
    attributions: Sequence[Attribution] = ()
    statuses: Sequence[Status] = ()
    currencies: Sequence[str | None] = ()
    unknown_word: str | None = None
    click_id: UUID | None = None
    transaction_id: str | None = None
    transaction_scopes: Sequence[UUID] = ()

    @property
    def times(self) -> Conditions:
        times = {"$gte": self.first, "$lte": self.last}
        return [{"at": {name: at}} for name, at in times.items() if at is not None]

    @property
    def states(self) -> Conditions:
        return [{"status": {"$in": list(self.attributions)}}] if self.attributions else []

    @property
    def of_click(self) -> Conditions:
        return [] if self.click_id is None else [{"click_id": self.click_id}]

    @property
    def of_transaction(self) -> Conditions:
        if self.transaction_id is None:
            return []
        scopes = {"$in": list(self.transaction_scopes)}
        return [{"transaction_scope": scopes, "transaction_id": self.transaction_id}]


_BOTS: Final[Mapping[Bots, Conditions]] = {
    "include": [],
    "exclude": [{"bot": None}],
    "only": [{"bot": {"$ne": None}}],
}
_TESTS: Final[Mapping[Tests, Conditions]] = {
    "include": [],
    "exclude": [NO_TEST],
    "only": [ONLY_TESTS],
}


def conditions_for_clicks(wanted: FeedFilter, host: str) -> Conditions:
    """Return the conditions for the values of clicks, without time and link."""
    fields = [own for own, _, _ in _of_values(wanted, host)]
    if wanted.id is not None:
        fields.append({"_id": wanted.id})
    return [*_BOTS[wanted.bots], *_TESTS[wanted.tests], *fields]


def conditions_for_conversions(wanted: FeedFilter, host: str) -> Conditions:
    """Return the conditions for the values of conversions, without time, state and link.

    A conversion without a click is `unknown` in all values of clicks.
    """
    found = list(_BOTS["only"]) if wanted.bots == "only" else []
    for own, without_value, without_click in _of_values(wanted, host):
        of_click = {"$and": [own, {"link_id": {"$ne": None}}]} if without_value else own
        found.append({"$or": [of_click, _OF_NO_CLICK]} if without_click else of_click)
    if configs := wanted.values.get(EVENT):
        ids = [None if one == NO_KEY[EVENT] else UUID(str(one)) for one in configs]
        found.append({"event_config_id": {"$in": ids}})
    if statuses := list[str | None](wanted.statuses):
        missing = [None] if Status.APPROVED in statuses else []
        found.append({"reported": {"$in": [*statuses, *missing]}})
    if wanted.currencies:
        found.append({"currency": {"$in": list(wanted.currencies)}})
    if wanted.unknown_word is not None:
        found.append({"unknown_word": wanted.unknown_word})
    return found


def _of_values(wanted: FeedFilter, host: str) -> Iterator[tuple[dict[str, Any], bool, bool]]:
    """Yield each filter's condition of clicks, and whether two kinds of conversions pass it.

    Conversions of clicks without a value, and those without a click.
    """
    for name, given in wanted.values.items():
        counted, values = wanted_values(name, given, host)
        if counted in COUNTED_FIELDS:
            field, absent = COUNTED_FIELDS[counted]
            stored: list[Any] = [*values]
            if counted in ID_DIMENSIONS:
                stored = [UUID(one) for one in values if one not in (absent, UNKNOWN)]
            own = {field: {"$in": [*stored, None] if absent in values else stored}}
            yield own, absent != UNKNOWN and absent in values, UNKNOWN in values
    for one in wanted.parameters:
        yield _of_parameter(one), NO_VALUE in one.values, UNKNOWN in one.values


def _of_parameter(wanted: WantedParameter) -> dict[str, Any]:
    """Return the condition of clicks. The field may have a value of an earlier name."""
    field, begin = wanted.field, f"{wanted.name}="
    own: dict[str, Any] = {field: {"$in": [f"{begin}{value}" for value in wanted.values]}}
    if NO_VALUE not in wanted.values:
        return own
    after = f"{wanted.name}{chr(ord('=') + 1)}"
    return {"$or": [own, {field: {"$not": {"$gte": begin, "$lt": after}}}]}
