"""A range of days, as reports count in it. Pure."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple


class DayRange(NamedTuple):
    """Days from `first` to `last`, both included."""

    first: date
    last: date

    @property
    def days(self) -> int:
        """Return the number of days."""
        return (self.last - self.first).days + 1

    def dates(self) -> Iterator[date]:
        """Yield each day, in order."""
        # Not by adding a day to each: there is none after 9999-12-31.
        for number in range(self.first.toordinal(), self.last.toordinal() + 1):
            yield date.fromordinal(number)
