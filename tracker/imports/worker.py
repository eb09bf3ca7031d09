"""The work on imports: dry runs, runs and undoing, each in chunks that are stored or repeated.

A chunk of a run stores its links, what is known of them and its rows in one transaction, under the
condition of the lease. So a process may be killed anywhere, and another one carries on.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from tracker.clicks.redirects.custom_paths import CustomPaths
from tracker.errors import BadRequest
from tracker.imports.candidate import digest
from tracker.imports.cut_over import CutOverCheck
from tracker.imports.item import RefusedRow, SourceItem, SourceLink, SourceVisit
from tracker.imports.plan import Decision, Planner, link_of, updated_fields
from tracker.imports.reading import read_items
from tracker.imports.rows import ImportRow, ImportRows
from tracker.imports.source import Source
from tracker.imports.store import MAX_DOMAINS, Import, Imports
from tracker.imports.undo import Undo
from tracker.imports.visits import VISITS_PER_CHUNK, ImportedVisits
from tracker.jobs.files import Files
from tracker.jobs.worker import JobWorker, chunks
from tracker.links.link import Link, Revision
from tracker.links.services import LinkServices
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.transaction import MongoSession

ITEMS_PER_CHUNK: Final = 200

Numbered = Sequence[tuple[int, SourceItem]]


class Worker(JobWorker[Import]):
    """The work of one process, on one import at a time."""

    def __init__(
        self,
        mongodb: MongoDB,
        imports: Imports,
        rows: ImportRows,
        files: Files,
        links: LinkServices,
        sources: Mapping[str, Source],
        visits: ImportedVisits,
        paths: CustomPaths,
    ) -> None:
        super().__init__(imports)
        self._mongodb = mongodb
        self._imports = imports
        self._rows = rows
        self._files = files
        self._links = links
        self._sources = sources
        self._visits = visits
        self._undo = Undo(mongodb, imports, links, visits)
        self._cut_over = CutOverCheck(imports, rows, links, paths)

    async def work(self, held: Import, stop: asyncio.Event) -> dict[str, Any] | None:
        """Do the present step of an import. Raises BadRequest if it cannot be done."""
        if held.state == "reading":
            raise BadRequest("api: the process that read it has ended; create the import again")
        if held.state == "undoing":
            return await self._undo.run(held, stop)
        if held.state == "comparing":
            return await self._cut_over.run(held, stop)
        return await self._go_through(held, stop)

    async def _go_through(self, held: Import, stop: asyncio.Event) -> dict[str, Any] | None:
        """Check or import all items; return the fields of the end, None if stopped before."""
        planner, position = Planner(self._mongodb, self._links, self._rows, held), held.position
        if held.state == "checking" and not position:
            await self._rows.delete(held.id)  # of another file, or other columns
        visits = held.counts.get("visits", 0)
        async for items in chunks(self._items(held), position, ITEMS_PER_CHUNK):
            if stop.is_set():
                return None
            counts = await self._chunk(held, planner, items)
            position += len(items)
            visits += counts.get("visits", 0)
            await self._imports.advance(held, {"position": position, "attempts": 0}, counts)
        if held.state == "checking":
            names = await self._rows.domain_names(held.id, MAX_DOMAINS)
            found = {"total": position, "visits": visits, "domain_names": names}
            return {"state": "checked", **found}
        if held.visits and not await self._store_visits(held, planner, stop):
            return None
        await self._files.delete(held.file_id)
        return {"state": "done", "file_id": None}

    async def _store_visits(self, held: Import, planner: Planner, stop: asyncio.Event) -> bool:
        """Store the visits, of which a file may have some before their links; False if stopped."""
        done = held.visits_done
        visits = (one async for one in self._items(held) if isinstance(one, SourceVisit))
        async for items in chunks(visits, done, VISITS_PER_CHUNK):
            if stop.is_set():
                return False
            done += len(items)
            found = [one for _, one in items if isinstance(one, SourceVisit)]
            pairs = await planner.linked(found)
            fields = {"visits_done": done, "attempts": 0}
            unknown = Counter(visits_unknown=len(found) - len(pairs))

            async def advance(session: MongoSession, counts: Mapping[str, int]) -> None:
                added = +(unknown + Counter(counts))  # noqa: B023
                await self._imports.advance(held, fields, added, session=session)  # noqa: B023

            await self._visits.store(held, pairs, advance)
        return True

    def _items(self, held: Import) -> AsyncIterator[SourceItem]:
        pieces = self._files.read(held.file_id or held.id, held.file_bytes)
        return read_items(self._sources[held.source], held, pieces)

    async def _chunk(self, held: Import, planner: Planner, items: Numbered) -> Mapping[str, int]:
        links = [(number, one) for number, one in items if isinstance(one, SourceLink)]
        rows = [_refused(number, one) for number, one in items if isinstance(one, RefusedRow)]
        decisions = await self._decided(held, planner, links)
        if held.state == "running":
            known = [one for one in decisions if one.row.outcome != "conflict"]
            # Of rows with one id the first counts.
            totals = {one.row.link_id: one.item.clicks for one in known[::-1] if one.row.link_id}
            await self._visits.set_openings(totals)
        rows += [one.row for one in decisions]
        counts = Counter[str](one.outcome for one in rows)
        if held.state == "checking":
            await self._rows.put(held.id, sorted(rows, key=lambda row: row.number))
            counts["visits"] = sum(isinstance(one, SourceVisit) for _, one in items)
        return +counts

    async def _decided(
        self, held: Import, planner: Planner, links: Sequence[tuple[int, SourceLink]], left: int = 2
    ) -> list[Decision]:
        """Decide, and store it in a run. Decide again if somebody takes a name meanwhile."""
        decisions = await planner.plan(links)
        if held.state == "running":
            try:
                await self._store(held, decisions)
            except BadRequest:
                if not left:
                    raise
                return await self._decided(held, planner, links, left - 1)
        return decisions

    async def _store(self, held: Import, decisions: list[Decision]) -> None:
        """Store a chunk. Raises BadRequest if a name is taken since it was planned."""
        tags = await self._tags(held, decisions)
        kept = [one for one in decisions if one.candidate]
        written = [(one, await link_of(held, one, tags, self._links)) for one in kept]
        updates = {one.link.id: (one, one.link, new) for one, new in written if one.link}
        creations = [(one, new) for one, new in written if not one.link]

        def fields_of(link: Link) -> Mapping[str, Any]:
            return updated_fields(updates[link.id][2])

        async def updated(session: MongoSession, revisions: Sequence[Revision]) -> None:
            after = {one.after.id: one.after for one in revisions}
            done = [(one, after.get(link.id, link)) for one, link, _ in updates.values()]
            await self._record(held, done, session)

        async def created(session: MongoSession, links: Sequence[Link]) -> None:
            done = zip([one for one, _ in creations], links, strict=True)
            await self._record(held, done, session)

        if updates:
            before = [link for _, link, _ in updates.values()]
            await self._links.links.change_all(before, fields_of, updated)
        if creations:
            await self._links.links.create_all([new for _, new in creations], created)
        rows = [one.row for one in decisions if not one.candidate]
        await self._rows.put(held.id, rows)

    async def _record(
        self, held: Import, done: Iterable[tuple[Decision, Link]], session: MongoSession
    ) -> None:
        """Store what is known of links from now on, and their rows. Raises LeaseLost."""
        await self._imports.advance(held, session=session)
        origin = {"account_id": held.account_id, "source": held.source, "instance": held.instance}
        links, rows = [], []
        for one, link in done:
            of_source = {**origin, "source_id": one.item.id, "import_id": held.id}
            last = {"by": held.id, "number": one.row.number, "outcome": one.row.outcome}
            known = {"digest": digest(one.item), "version": link.version, **last}
            update = {"$set": known, "$setOnInsert": of_source}
            links.append({"q": {"_id": link.id}, "u": update, "upsert": True})
            rows.append(msgspec.structs.replace(one.row, link_id=link.id))
        await run_updates(self._mongodb.database, "imported_links", links, session)
        await self._rows.put(held.id, rows, session)

    async def _tags(self, held: Import, decisions: Sequence[Decision]) -> dict[str, UUID]:
        """Return the ids of tags by name, created if the account lacks them."""
        names = {name for one in decisions if one.candidate for name in one.candidate.tags}
        found = await self._links.tags.by_names(held.account_id, names)
        for name in sorted(names - found.keys()):
            if name not in found:
                tag = await self._links.tags.create(held.account_id, name)
                await self._imports.advance(held, pushed={"created_tags": [tag.id]})
                found = await self._links.tags.by_names(held.account_id, names)
        return found


def _refused(number: int, item: RefusedRow) -> ImportRow:
    return ImportRow(number=number, outcome="refused", **msgspec.structs.asdict(item))
