"""The sums that clicks and events add to rollups (`reports/rollups/layout`). Pure.

Drains write them in the transaction that stores the documents. The recount computes them from the
stored documents.

An event counts as soon as its account is known. When its click arrives, the event is subtracted
(`add_event` with sign -1), and added again with the click's values.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from tracker import visitor_dimensions
from tracker.calendar import DEFAULT_ZONE, Calendar
from tracker.conversions.corrections.status import Status
from tracker.conversions.document import COUNTED
from tracker.reports.columns import FURTHER
from tracker.reports.rollups.full_rollups import DocumentKey
from tracker.reports.rollups.groups import Day, DocumentAdditions, Group, Measures, Numbers
from tracker.reports.rollups.layout import (
    DRAIN_NUMBER,
    MONEY,
    RollupId,
    Sums,
    Values,
    cells_of,
    config_name,
)
from tracker.reports.rollups.money import billionths
from tracker.reports.rollups.parts import divided
from tracker.reports.rollups.upsert import Upsert
from tracker.stores.mongodb.documents import as_read
from tracker.visitor_dimensions import UNKNOWN

_CLICKS: Final[Measures] = (("clicks",),)
_UNIQUE: Final[Measures] = (("clicks", "unique"),)
_BOTS: Final[Measures] = (("bots",),)
_EVENTS: Final[Measures] = (("conversions",), *((one,) for one in MONEY))


def _with_bots(measures: Measures) -> Measures:
    return tuple((*names, *(f"bot_{one}" for one in names)) for names in measures)


_BOT_EVENTS: Final = _with_bots(_EVENTS)
_COSTS: Final[Measures] = (("costed",), ("cost_unknown",), ("cost",))
_BOT_COSTS: Final = _with_bots(_COSTS)

_visitor_values: Final = itemgetter(*visitor_dimensions.NAMES)

Calendars = Mapping[bytes, Calendar]
"""The calendar of each account, by its id; UTC for missing ones."""

_GroupKey = tuple[bytes, Day, Values, str, Measures]
"""Account, day, values, event configuration, measures: all but the link and its domain."""


def measured(event: Mapping[str, Any]) -> tuple[Measures, list[int]]:
    """Return what an event counts for, without bots' share: its measures, and kinds of money.

    Pending, rejected and refunded ones are no conversions. Money in another currency than the
    account's counts apart.
    """
    value, payout, refunded = (_amount(event, one) for one in (*MONEY, "refunded_value"))
    status = event.get("reported", Status.APPROVED)
    is_approved = status == Status.APPROVED
    count = "conversions" if is_approved else f"{status}_conversions"
    if "currency" in event:
        counts = (count, "other_conversions")
        if not is_approved:
            return (counts,), []
        return (counts, ("other_value",), ("other_payout",)), [value - refunded, payout]
    if is_approved:
        measures: Measures = ((count,), ("value",), ("payout",), ("refunded_value",))
        return measures, [value - refunded, payout, refunded]
    if status == Status.PENDING:
        return ((count,), ("pending_value",)), [value]
    if status == Status.REFUNDED:
        is_partial = event.get("refunded_value") is not None
        return ((count,), ("refunded_value",)), [refunded if is_partial else value]
    return ((count,),), []


def _amount(event: Mapping[str, Any], name: str) -> int:
    amount = event.get(name)
    return 0 if amount is None else billionths(amount)


class Rollup:
    """A collector of clicks and events. A click takes about 4 µs."""

    def __init__(self, calendars: Calendars | None = None) -> None:
        self._calendars = calendars or {}
        # Keys are account and day; links add their id.
        self._accounts: dict[tuple[bytes, Day], DocumentAdditions] = {}
        self._links: dict[tuple[bytes, Day, bytes | None], DocumentAdditions] = {}
        self._groups: dict[_GroupKey, Group] = {}
        self._has_events = False

    def add_click(self, click: Mapping[str, Any], count: int = 1) -> None:
        """Add a click `count` times, unless it is a test."""
        if "test" in click:
            return
        measures = _BOTS
        if click["bot"] is None:
            measures = _UNIQUE if click["unique"] else _CLICKS
        at, link_id, domain_name = click["at"], click["link_id"], click["domain_name"]
        try:
            visitor = _visitor_values(click)
        except KeyError:  # it was stored before there was the newest dimension
            visitor = visitor_dimensions.values_in(click)
        # Without a call, because nearly every click is counted in UTC.
        day, hour = self._day_and_hour(click) if self._calendars else (at.toordinal(), at.hour)
        values = (hour, visitor)
        self._add(click["account_id"], day, link_id, domain_name, values, "", measures, count)
        if "cost" in click:
            self.add_costs(click, count, 0, count * billionths(click["cost"]))
        elif "cost_unknown" in click:
            self.add_costs(click, 0, count, 0)

    def add_costs(self, click: Mapping[str, Any], costed: int, unknown: int, cost: int) -> None:
        """Add the costs of clicks with the same values: how many are known, how many not."""
        day, hour = self._day_and_hour(click)
        values = (hour, visitor_dimensions.values_in(click))
        measures = (*(_COSTS if click["bot"] is None else _BOT_COSTS), (FURTHER,))
        of = (click["account_id"], day, click["link_id"], click["domain_name"], values, "")
        self._add(*of, measures, costed, (unknown, cost, costed + unknown))

    def remove_click(self, click: Mapping[str, Any]) -> None:
        """Subtract a click. Its rollups count a correction: later sums may equal earlier ones."""
        self.add_click(click, count=-1)
        for document in self._documents_of(click, self._day_and_hour(click)[0]):
            document.count_correction()

    def count_parent(self, click: Mapping[str, Any]) -> None:
        """Count the correction of a stored click whose parent is known now, unless it is a test."""
        if "test" not in click:
            day, hour = self._day_and_hour(click)
            for document in self._documents_of(click, day):
                document.count_correction(hour)

    def add_event(self, event: Mapping[str, Any], sign: int = 1) -> None:
        """Add an event, or subtract it with sign -1, if its status counts."""
        if event["account_id"] is None or event["status"] not in COUNTED:
            return
        day, hour = self._day_and_hour(event)
        values = (hour, visitor_dimensions.values_in(event))
        account_id, link_id = event["account_id"], event.get("link_id")
        domain_name = event.get("domain_name", UNKNOWN)
        name = config_name(event["event_config_id"])
        if sign < 0:
            for document in self._documents_of(event, day):
                document.count_change(hour)
        if "reported" in event or "currency" in event or "refunded_value" in event:
            measures, money = measured(event)
            money = [sign * one for one in money]
            if event.get("bot") is not None:
                measures = _with_bots(measures)
            measures = ((*measures[0], FURTHER), *measures[1:])
        else:
            measures = _EVENTS if event.get("bot") is None else _BOT_EVENTS
            money = [
                0 if (amount := event[one]) is None else sign * billionths(amount) for one in MONEY
            ]
        self._add(account_id, day, link_id, domain_name, values, name, measures, sign, money)

    def _day_and_hour(self, document: Mapping[str, Any]) -> tuple[Day, int]:
        """Return the day and the hour in the account's calendar."""
        calendar = self._calendars.get(_as_bytes(document["account_id"]) or b"")
        at = document["at"]
        if calendar is None:
            return at.toordinal(), at.hour
        day, hour = calendar.day_and_hour(at)
        number = day.toordinal()
        return (number if calendar.zone == DEFAULT_ZONE else (number, calendar.zone)), hour

    def sums(self) -> dict[RollupId, Sums]:
        """Return the sums by document, without zeros."""
        found = {RollupId(**as_read(one.id)): one.upsert(one.id).sums() for one in self._added()}
        return {rollup_id: sums for rollup_id, sums in found.items() if sums}

    def cells(self) -> dict[DocumentKey, int]:
        """Return the number of unlimited cells that are added to, of each document with any."""
        with_any = (*self._links.values(),) if self._has_events else ()
        counts = ((one, one.number_of_cells()) for one in (*self._accounts.values(), *with_any))
        return {document.key(): count for document, count in counts if count}

    def upserts(self, drain_number: int, full: Collection[DocumentKey] = ()) -> Iterator[Upsert]:
        """Yield the upsert of each of a drain's documents; documents in `full` are divided."""
        for document in self._added():
            upsert = document.upsert({**document.id, DRAIN_NUMBER: drain_number})
            if full and document.key() in full:
                for number, added in divided(upsert.increments(), drain_number).items():
                    part_id = {**document.id, DRAIN_NUMBER: number}
                    yield Upsert(part_id, document.domain_name, others=added)
            else:
                yield upsert

    def updates(self, drain_number: int) -> Iterator[dict[str, Any]]:
        """Yield the statements of the `update` command, for documents that are stored or not."""
        return (one.statement() for one in self.upserts(drain_number))

    def domain_names(self) -> dict[RollupId, str]:
        return {
            RollupId(**as_read(one.id)): one.domain_name
            for one in self._links.values()
            if one.domain_name is not None
        }

    def _add(
        self,
        account_id: UUID | bytes,
        day: Day,
        link_id: UUID | bytes | None,
        domain_name: str,
        values: Values,
        event: str,
        measures: Measures,
        count: int,
        money: Sequence[int] = (),
    ) -> None:
        if isinstance(account_id, UUID):
            account_id = account_id.bytes
        if isinstance(link_id, UUID):
            link_id = link_id.bytes
        key = (account_id, day, values, event, measures)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(cells_of(values), event, measures)
            self._account(account_id, day).added[group] = 0
        of_link = self._links.get((account_id, day, link_id))
        if of_link is None:
            of_link = self._link(account_id, day, link_id, domain_name)
        by_domain, by_group = group.by_domain, of_link.added
        if event or money:
            self._has_events = True
            _add_sums(by_domain, domain_name, (count, *money))
            _add_sums(by_group, group, (count, *money))
        else:
            by_domain[domain_name] = by_domain.get(domain_name, 0) + count
            by_group[group] = by_group.get(group, 0) + count

    def _documents_of(
        self, document: Mapping[str, Any], day: Day
    ) -> tuple[DocumentAdditions, DocumentAdditions]:
        account_id = _as_bytes(document["account_id"])
        assert account_id is not None
        link_id, domain_name = document.get("link_id"), document.get("domain_name", UNKNOWN)
        of_link = self._link(account_id, day, _as_bytes(link_id), domain_name)
        return of_link, self._account(account_id, day)

    def _link(
        self, account_id: bytes, day: Day, link_id: bytes | None, domain_name: str
    ) -> DocumentAdditions:
        key = (account_id, day, link_id)
        if key not in self._links:
            self._links[key] = DocumentAdditions(account_id, day, link_id, domain_name)
        return self._links[key]

    def _account(self, account_id: bytes, day: Day) -> DocumentAdditions:
        found = self._accounts.get((account_id, day))
        if found is None:
            found = self._accounts[account_id, day] = DocumentAdditions(account_id, day, None, None)
        return found

    def _added(self) -> Iterator[DocumentAdditions]:
        """Add up the groups of accounts, then yield each document that changes."""
        for account in self._accounts.values():
            for group in account.added:
                account.added[group] = group.numbers()
        any_number = _any_sum if self._has_events else any
        for document in (*self._links.values(), *self._accounts.values()):
            if document.changes or any_number(document.added.values()):
                yield document


def _add_sums(to: dict[Any, Numbers], key: Any, sums: Sequence[int]) -> None:
    found = to.get(key)
    if found is None:
        to[key] = list(sums)
        return
    for at, number in enumerate(sums):
        found[at] += number


def _any_sum(numbers: Iterable[Numbers]) -> bool:
    return any(any(one) if isinstance(one, list) else one for one in numbers)


def _as_bytes(one: UUID | bytes | None) -> bytes | None:
    return one.bytes if isinstance(one, UUID) else one
