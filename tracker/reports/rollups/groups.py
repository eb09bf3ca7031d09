"""What a batch adds to one rollup, by groups of clicks or events with the same values. Pure."""

from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any

from tracker.calendar import DEFAULT_ZONE
from tracker.reports.limits import CACHED_DAYS
from tracker.reports.rollups.full_rollups import DocumentKey
from tracker.reports.rollups.layout import CHANGES, CORRECTIONS, domain_cell, of_zone, with_domain
from tracker.reports.rollups.upsert import Addition, Upsert
from tracker.stores.mongodb.documents import shared_id

Day = int | tuple[int, str]
"""A day as its ordinal in UTC, and in other zones with the zone's name."""

Measures = tuple[tuple[str, ...], ...]
"""The measures that the count is added to, then the measures of each kind of money."""

Numbers = Any
"""A number of clicks; of events and costs a list, with their number and the sum of each kind of
money. Lists for clicks as well would cost 3 µs a click of many accounts."""


class DocumentAdditions:
    """What is added to one document, by group. `domain_name` is None for an account."""

    __slots__ = ("added", "changes", "domain_name", "id")

    def __init__(
        self, account_id: bytes, day: Day, link_id: bytes | None, domain_name: str | None
    ) -> None:
        number, zone = (day, DEFAULT_ZONE) if isinstance(day, int) else day
        self.id: dict[str, Any] = {
            "account_id": shared_id(account_id),
            "of": of_zone("account" if domain_name is None else "link", zone),
            "day": _day(number),
            "link_id": None if link_id is None else shared_id(link_id),
        }
        self.domain_name = domain_name
        self.added: dict[Group, Numbers] = {}
        # Most have none: a batch of many accounts makes tens of thousands of these objects.
        self.changes: dict[str, int] | None = None

    def count_change(self, hour: int) -> None:
        if self.changes is None:
            self.changes = {}
        for path in (f"total.{CHANGES}", f"hour.{hour:02}.{CHANGES}"):
            self.changes[path] = self.changes.get(path, 0) + 1

    def count_correction(self, hour: int | None = None) -> None:
        """Count a correction of the day, which is one of this hour alone if that is given."""
        if self.changes is None:
            self.changes = {}
        paths = (f"total.{CORRECTIONS}", f"hour.{hour or 0:02}.{CORRECTIONS}")
        for path in paths[: 1 if hour is None else 2]:
            self.changes[path] = self.changes.get(path, 0) + 1

    def key(self) -> DocumentKey:
        return self.id["account_id"], self.id["of"], self.id["day"], self.id["link_id"]

    def number_of_cells(self) -> int:
        """Return the number of unlimited cells that are added to."""
        if len(self.added) == 1:
            [group] = self.added
            return len(group.unlimited_cells(self.domain_name is None))
        groups = (one.unlimited_cells(self.domain_name is None) for one in self.added)
        return len(set().union(*groups))

    def upsert(self, document_id: Mapping[str, Any]) -> Upsert:
        additions = []
        own_cells: list[tuple[str, Mapping[str, int]]] = []
        for group, numbers in self.added.items():
            cells, domains = group.cells, group.by_domain
            if self.domain_name is None and len(domains) == 1:
                cells = with_domain(cells, *domains)
            elif self.domain_name is None:
                own_cells += [
                    (domain_cell(name), group.by_measure(of_domain))
                    for name, of_domain in domains.items()
                ]
            additions.append(Addition(cells, group.event, group.by_measure(numbers)))
        return Upsert(document_id, self.domain_name, additions, own_cells, self.changes or {})


class Group:
    """Clicks or events that differ only in their links and amounts.

    They are added to the account's document once, for each domain. They do not refer to it: only
    garbage collection would free such circles.
    """

    __slots__ = ("by_domain", "cells", "event", "has_lists", "measures")

    def __init__(self, cells: tuple[str, ...], event: str, measures: Measures) -> None:
        self.cells = cells
        self.event = event
        self.measures = measures
        self.has_lists = bool(event) or len(measures) > 1
        self.by_domain: dict[str, Numbers] = {}

    def numbers(self) -> Numbers:
        """Return the sums of all domains."""
        if len(self.by_domain) == 1:
            [numbers] = self.by_domain.values()
            return numbers
        if not self.has_lists:
            return sum(self.by_domain.values())
        return [sum(of_domains) for of_domains in zip(*self.by_domain.values(), strict=True)]

    def by_measure(self, numbers: Numbers) -> Mapping[str, int]:
        if not self.has_lists:
            count: int = numbers
            return dict.fromkeys(self.measures[0], count)
        pairs = zip(self.measures, numbers, strict=True)
        return {name: number for names, number in pairs for name in names}

    def unlimited_cells(self, of_account: bool) -> list[str]:
        names = (self.event, *self.by_domain) if of_account else (self.event,)
        return [one for one in names if one]


@lru_cache(maxsize=CACHED_DAYS)
def _day(number: int) -> str:
    """Return the ISO date of a proleptic ordinal."""
    return date.fromordinal(number).isoformat()
