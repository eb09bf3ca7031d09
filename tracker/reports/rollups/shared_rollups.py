"""The rollups of a link on a few days, read once for all parts of a request.

Each panel of an overview reads another map of the same documents. A query takes MongoDB and the
driver a millisecond, and a whole document a tenth. Maps without a limit of cells are left out.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from tracker import visitor_dimensions
from tracker.reports.columns import Columns
from tracker.reports.dimensions import DAY, HOUR
from tracker.reports.rollups.layout import encoded
from tracker.reports.rollups.money import whole_number
from tracker.reports.rollups.pipelines import RollupQuery, table_of
from tracker.reports.threads import in_thread_if_large
from tracker.stores.mongodb.reads import MongoReads

_MAX_DAYS: Final = 7

_TOTAL: Final = "total"
_MAPS: Final = (HOUR, *visitor_dimensions.NAMES)
_FIELDS: Final = (_TOTAL, "domain_name", *_MAPS)
_DOCUMENTS_AT_ONCE: Final = 50
"""Documents of a batch: each takes 0.1 ms to decode."""

Rollups = Sequence[Mapping[str, Any]]
_RollupsOfDays = dict[tuple[str, UUID, str], list[Mapping[str, Any]]]
"""By the field `of`, the link and the day."""


class SharedRollups:
    """The rollups that the parts of one request have read, in one snapshot of one account."""

    def __init__(self) -> None:
        self._read: _RollupsOfDays = {}

    async def table(self, reader: MongoReads, query: RollupQuery) -> Columns | None:
        """Return what `rollup_table` does; None if the query is not of a link and a few days."""
        [link_id, *others] = query.links or [None]
        if link_id is None or others or query.selection.map not in (None, *_MAPS):
            return None
        count = (query.last - query.first).days + 1
        days = [(query.first + timedelta(number)).isoformat() for number in range(count)]
        found = await self.of_days(reader, {**query.matching, "_id.link_id": link_id}, days)
        if found is None:
            return None
        cells = sum(len(one.get(query.selection.map or _TOTAL, ())) for one in found)
        return await in_thread_if_large(cells, _table, query, found)

    async def of_days(
        self, reader: MongoReads, matching: Mapping[str, Any], days: Collection[str]
    ) -> Rollups | None:
        """Return the rollups of a link that `matching` selects; None if the days are not few."""
        if len(days) > _MAX_DAYS:
            return None
        of, link_id = matching["_id.of"], matching["_id.link_id"]
        keys = {day: (of, link_id, day) for day in days}
        missing = sorted(day for day, key in keys.items() if key not in self._read)
        if missing:
            read: _RollupsOfDays = {keys[day]: [] for day in missing}
            of_days = {**matching, "_id.day": {"$in": missing}}
            for row in await reader.find(
                "rollups", of_days, _FIELDS, batch_size=_DOCUMENTS_AT_ONCE
            ):
                read[keys[row["_id"]["day"]]].append(row)
            self._read |= read
        return [row for key in keys.values() for row in self._read[key]]


def _table(query: RollupQuery, rollups: Rollups) -> Columns:
    names = [*([DAY] if query.by_day else []), *query.names]
    return table_of(query, list(_groups(query, rollups))).by(names)


def _groups(query: RollupQuery, rollups: Rollups) -> Iterator[dict[str, Any]]:
    """Yield each cell as a row of the pipeline, unless its measures are zero."""
    of_map = query.selection.map
    wanted = None if query.cells is None else frozenset(map(encoded, query.cells))
    for rollup in rollups:
        day, link_id = rollup["_id"]["day"], rollup["_id"]["link_id"].bytes
        key = {"d": day, "l": link_id, "m": rollup.get("domain_name", "")}
        cells = {None: rollup.get(_TOTAL, {})} if of_map is None else rollup.get(of_map, {})
        for name, cell in cells.items():
            if of_map is not None and wanted is not None and name not in wanted:
                continue
            sums = {one: cell.get(one, 0) for one in query.measures}
            if any(map(whole_number, sums.values())):
                yield {"_id": {**key, "c": name}, **sums}
