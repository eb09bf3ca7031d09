"""What becomes of a chunk of a source's links: the dry run and the run both ask this alone.

- A link is known by source, instance and id there. What nobody changed here follows its source.
- A name belongs to the link that has it: here, or in an earlier row of the same import.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.imports.candidate import Candidate, Refused, candidate, digest
from tracker.imports.item import SourceLink
from tracker.imports.rows import ImportRow, ImportRows, Outcome
from tracker.imports.store import Import
from tracker.links.api.short_links import check_targets
from tracker.links.domain import Domain
from tracker.links.link import Link
from tracker.links.services import LinkServices
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_struct

_NOT_UPDATED: Final = frozenset(("account_id", "domain_id", "domain_name", "slug", "created_at"))


class ImportedLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that an import has created. `digest` and `version` are of the last import of it.

    `import_id` has created it; `by` was the last to import it, as its item `number`.
    """

    id: UUID
    source_id: str
    digest: bytes
    version: int
    import_id: UUID
    by: UUID
    number: int
    outcome: Outcome


class Decision(NamedTuple):
    """What becomes of a row. With a candidate it is written: to `link`, else to a new one."""

    row: ImportRow
    item: SourceLink
    digest: bytes = b""
    candidate: Candidate | None = None
    link: Link | None = None
    is_stored: bool = False


class Planner:
    """Plans the chunks of one import. `domains` are by the source's names."""

    def __init__(
        self, mongodb: MongoDB, services: LinkServices, rows: ImportRows, one: Import
    ) -> None:
        self._mongodb = mongodb
        self._services = services
        self._rows = rows
        self._import = one
        self._domains: dict[str, Domain | None] = {}

    async def plan(self, first: int, items: Sequence[tuple[int, SourceLink]]) -> list[Decision]:
        """Return what becomes of numbered links, in their order. `first` is the chunk's number."""
        candidates = [await self._candidate(item) for _, item in items]
        known = await self._known([item.id for _, item in items])
        links = await self._services.links.find_all([one.id for one in known.values()])
        names = [_names(item, one) for (_, item), one in zip(items, candidates, strict=True)]
        flat = [name for some in names for name in some]
        taken = await self._taken(first, flat, candidates)
        decisions = []
        for (number, item), found, own in zip(items, candidates, names, strict=True):
            row = _row(number, item)
            one = known.get(item.id)
            if isinstance(found, Refused):
                decision = Decision(_as(row, "refused", found.field, str(found)), item)
            elif one is not None:
                decision = self._again(row, item, found, one, links.get(one.id))
            elif by := next((taken[name] for name in own if name in taken), None):
                decision = Decision(_as(row, "conflict", "path", by), item)
            else:
                decision = self._new(row, item, found, own)
                taken |= dict.fromkeys(own, f"taken by row {item.row}")
            decisions.append(decision)
        return decisions

    async def _candidate(self, item: SourceLink) -> Candidate | Refused:
        try:
            digest(item)
            found = candidate(item, await self._domain(item.domain_name or ""))
            body = found.body
            await check_targets(self._services, body.destination_url, body.expired_url)
        except Refused as refused:
            return refused
        except BadRequest as error:
            field, _, reason = error.message.partition(": ")
            return Refused(field, reason)
        return found

    async def _domain(self, name: str) -> Domain | None:
        """Return where a source's domain goes. Raises Refused if nowhere."""
        if name not in self._domains:
            chosen = next((one for one in self._import.domains if one.name == name), None)
            domains = self._services.domains
            if chosen is None:
                found = await domains.find_own(self._import.account_id, name)
            else:
                found = await domains.find(chosen.domain_id) if chosen.domain_id else None
            if found is None and (name if chosen is None else chosen.domain_id):
                raise Refused("domain", f"{name} is no domain of the account; choose one for it")
            self._domains[name] = found
        return self._domains[name]

    async def _known(self, ids: Sequence[str]) -> dict[str, ImportedLink]:
        one = self._import
        same = {"account_id": one.account_id, "source": one.source, "instance": one.instance}
        found = self._mongodb["imported_links"].find({**same, "source_id": {"$in": ids}})
        return {row["source_id"]: as_struct(ImportedLink, row) async for row in found}

    async def _taken(
        self, first: int, names: Sequence[str], candidates: Sequence[Candidate | Refused]
    ) -> dict[str, str]:
        rows = await self._rows.taken(self._import.id, names, first)
        taken = {name: f"taken by row {row}" for name, row in rows.items()}
        slugs: dict[UUID | None, list[str]] = {}
        for one in candidates:
            if isinstance(one, Candidate) and one.body.slug:
                slugs.setdefault(one.body.domain_id, []).append(one.body.slug)
        for domain_id, some in slugs.items():
            matching = {"domain_id": domain_id, "slug": {"$in": some}}
            async for row in self._mongodb["links"].find(matching, ["slug"]):
                taken[_name(domain_id, row["slug"])] = "taken by another link"
        return taken

    def _again(
        self,
        row: ImportRow,
        item: SourceLink,
        found: Candidate,
        known: ImportedLink,
        link: Link | None,
    ) -> Decision:
        """Return what becomes of a link that was imported before, by whichever import."""
        row = msgspec.structs.replace(row, link_id=known.id)
        if known.by == self._import.id:
            if known.number == row.number:  # stored before a crash
                return Decision(_as(row, known.outcome), item, is_stored=True)
            return Decision(_as(row, "conflict", "id", "an earlier row has it too"), item)
        if link is None or link.version != known.version:
            return Decision(_as(row, "changed", "", "changed here since; left as it is"), item)
        if known.digest == digest(item):
            return Decision(_as(row, "same"), item)
        moved = (found.body.slug or link.slug, found.body.domain_id) != (link.slug, link.domain_id)
        if moved:
            return Decision(_as(row, "changed", "path", "another one at the source since"), item)
        row = _as(row, "update", "", "changed at the source since, and nobody changed it here")
        return Decision(row, item, digest(item), found, link)

    def _new(
        self, row: ImportRow, item: SourceLink, found: Candidate, names: Sequence[str]
    ) -> Decision:
        row = msgspec.structs.replace(row, names=list(names))
        if not found.losses:
            return Decision(_as(row, "create"), item, digest(item), found)
        fields = ", ".join(dict.fromkeys(one.field for one in found.losses))
        reasons = "; ".join(f"{one.field}: {one.reason}" for one in found.losses)
        return Decision(_as(row, "lossy", fields, reasons), item, digest(item), found)


def updated_fields(new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a new link that an import sets in one that it has created before."""
    return {name: value for name, value in new.items() if name not in _NOT_UPDATED}


def _row(number: int, item: SourceLink) -> ImportRow:
    return ImportRow(
        number=number,
        row=item.row,
        outcome="refused",
        domain=item.domain_name or "",
        path=item.path,
        destination_url=item.destination_url,
        internal_name=item.internal_name or "",
        tags="|".join(item.tags),
        source_id=item.id,
    )


def _as(row: ImportRow, outcome: Outcome, field: str = "", reason: str = "") -> ImportRow:
    return msgspec.structs.replace(row, outcome=outcome, field=field, reason=reason)


def _names(item: SourceLink, found: Candidate | Refused) -> list[str]:
    """Return the names that a link takes: no other row may have one of them."""
    if isinstance(found, Refused):
        return []
    paths = [found.body.slug] if found.body.slug else []
    return [f"id {item.id}", *(_name(found.body.domain_id, path) for path in paths)]


def _name(domain_id: UUID | None, path: str) -> str:
    return f"{domain_id or ''}/{path}"
