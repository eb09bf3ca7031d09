"""What becomes of a chunk of a source's links: the dry run and the run both ask this alone.

- A link is known by source, instance and id there. What nobody changed here follows its source.
- A name belongs to the link that has it: here, or in an earlier row of the same import.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.imports.candidate import (
    Candidate,
    candidate,
    digest,
    is_kept,
    name_of_external,
    name_of_id,
    name_on,
)
from tracker.imports.item import SourceLink, SourceVisit, kept
from tracker.imports.rows import ImportRow, ImportRows, Outcome
from tracker.imports.store import Import
from tracker.links.api.new_links import new_link
from tracker.links.api.option_schema import rule_fields
from tracker.links.api.short_links import check_targets
from tracker.links.domain import Domain
from tracker.links.link import Link, NewLink
from tracker.links.services import LinkServices
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_struct
from tracker.web.schema import sent_fields

_KEPT: Final = ("account_id", "domain_id", "domain_name", "slug", "created_at", "opening_clicks")
"""Fields of a link that a later import of it leaves as they are."""

Numbered = Sequence[tuple[int, SourceLink]]


class ImportedLink(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a link that an import has created.

    `import_id` has created it. `by` was the last to write it, as its item `number`, with `digest`
    and `outcome`; it left it at `version`.
    """

    id: UUID
    source_id: str
    digest: bytes
    version: int
    import_id: UUID
    by: UUID
    number: int
    outcome: Outcome

    @property
    def is_own(self) -> bool:
        """Return whether no later import has written it."""
        return self.by == self.import_id

    def was_changed(self, link: Link) -> bool:
        """Return whether a person has changed it since."""
        renewed = self.version + 1 == link.version == link.renewed_version
        return link.version != self.version and not renewed


class Decision(NamedTuple):
    """What becomes of a row. With a candidate it is written: to `link`, else to a new one."""

    row: ImportRow
    item: SourceLink
    candidate: Candidate | None = None
    link: Link | None = None

    def of(self, outcome: Outcome, field: str = "", reason: str = "", **others: Any) -> "Decision":
        changes = {"outcome": outcome, "field": field, "reason": reason, **others}
        return self._replace(row=msgspec.structs.replace(self.row, **changes))


class Planner:
    """Plans the chunks of one import."""

    def __init__(
        self, mongodb: MongoDB, services: LinkServices, rows: ImportRows, one: Import
    ) -> None:
        self._mongodb = mongodb
        self._services = services
        self._rows = rows
        self._import = one
        self._domains: dict[str, Domain | None] = {}

    async def plan(self, items: Numbered) -> list[Decision]:
        """Return what becomes of links, in their order."""
        found = [await self._candidate_or_refusal(item) for _, item in items]
        known = await self._known([item.id for _, item in items])
        links = await self._services.links.find_all([one.id for one in known.values()])
        taken = await self._taken(items, [one for one in found if isinstance(one, Candidate)])
        decisions = []
        for (number, item), one in zip(items, found, strict=True):
            decision = Decision(_row(number, item), item)
            if isinstance(one, BadRequest):
                field, _, reason = one.message.partition(": ")
                decision = decision.of("refused", field, reason)
            elif item.id in known:
                before = known[item.id]
                decision = self._again(decision, one, before, links.get(before.id), taken)
            else:
                decision = _conflict(decision, one, taken) or _new(decision, one)
            taken |= dict.fromkeys(decision.row.names, f"row {item.row}")
            decisions.append(decision)
        return decisions

    async def _candidate_or_refusal(self, item: SourceLink) -> Candidate | BadRequest:
        await asyncio.sleep(0)  # many rules take 1 ms
        try:
            found = candidate(item, await self._domain(item.domain_name or ""))
            await check_targets(self._services, found.body)
        except BadRequest as refusal:
            return refusal
        return found

    async def _domain(self, name: str) -> Domain | None:
        """Return where links of a source's domain go. Raises BadRequest if nowhere."""
        if name in self._domains:
            return self._domains[name]
        chosen = {"": None, **{one.name: one.domain_id for one in self._import.domains}}
        found, domain_id, domains = None, chosen.get(name), self._services.domains
        if domain_id is not None:
            found = await domains.find(domain_id)
        elif name not in chosen:
            found = await domains.find_own(self._import.account_id, name)
        if found is None and (domain_id or name not in chosen):
            raise BadRequest(f"domain: {name} is no domain of the account; choose one for it")
        self._domains[name] = found
        return found

    async def _known(self, ids: Collection[str]) -> dict[str, ImportedLink]:
        one = self._import
        same = {"account_id": one.account_id, "source": one.source, "instance": one.instance}
        rows = self._mongodb["imported_links"].find({**same, "source_id": {"$in": list(ids)}})
        return {row["source_id"]: as_struct(ImportedLink, row) async for row in rows}

    async def linked(self, visits: Sequence[SourceVisit]) -> list[tuple[Link, SourceVisit]]:
        """Return the visits of known links, with the links."""
        known = await self._known({one.link_id for one in visits})
        links = await self._services.links.find_all([one.id for one in known.values()])
        found = ((links.get(known[one.link_id].id), one) for one in visits if one.link_id in known)
        return [(link, one) for link, one in found if link is not None]

    async def _taken(self, items: Numbered, found: Sequence[Candidate]) -> dict[str, str]:
        """Return who has taken names that the links of a chunk want."""
        first = items[0][0] if items else 0
        wanted = [name for one in found for name in one.takes]
        rows = await self._rows.taken(self._import.id, wanted, first)
        taken = {name: f"row {row}" for name, row in rows.items()}
        for domain_id, domain in {one.body.domain_id: one.domain for one in found}.items():
            paths = {path for one in found if one.body.domain_id == domain_id for path in one.paths}
            for path in await self._services.links.find_names(domain, paths):
                taken[name_on(domain, path)] = "another link"
        external = [one.body.external_id for one in found if one.body.external_id]
        matching = {"account_id": self._import.account_id, "external_id": {"$in": external}}
        async for row in self._mongodb["links"].find(matching, ["external_id"]):
            taken[name_of_external(row["external_id"])] = "another link"
        return taken

    def _again(
        self,
        decision: Decision,
        found: Candidate,
        known: ImportedLink,
        link: Link | None,
        taken: Mapping[str, str],
    ) -> Decision:
        """Return what becomes of a link that was imported before, by whichever import."""
        own = name_of_id(decision.item)
        if own in taken:
            return decision.of("conflict", "id", "an earlier row has it too", link_id=known.id)
        decision = decision.of(known.outcome, link_id=known.id, names=[own])
        is_same = known.digest == digest(decision.item)
        if is_same and (known.by, known.number) == (self._import.id, decision.row.number):
            return decision.of(known.outcome, names=[*found.takes])  # stored before a crash
        if link is None or known.was_changed(link):
            return decision.of("changed", "", "changed here since; left as it is")
        if is_same:
            return decision.of("same")
        body = found.body
        if (body.slug or link.slug, body.domain_id) != (link.slug, link.domain_id):
            return decision.of("changed", "path", "another one at the source since; left as it is")
        held = {name_on(found.domain, one) for one in (link.slug, *link.names)}
        others = taken.keys() - held - {name_of_external(link.external_id)}
        conflict = _conflict(decision, found, {name: taken[name] for name in others})
        decision = decision._replace(candidate=found, link=link)
        told = "; ".join(("changed at the source alone", *_told(found)))
        return conflict or decision.of("update", "", told, names=[*found.takes])


async def link_of(
    held: Import, one: Decision, tags: Mapping[str, UUID], services: LinkServices
) -> NewLink:
    """Return the link that a decision creates, or changes another one to."""
    assert one.candidate is not None
    found, passwords = one.candidate, services.passwords
    found.body.tags = list(dict.fromkeys(tags[name] for name in found.tags))
    new = new_link(held.account_id, found.body, sent_fields(found.body), found.domain)
    hashed, password = None, one.item.password
    if password is not None and is_kept(password):
        is_plain = password.scheme == "plain"
        hashed = await passwords.hash(password.text) if is_plain else password.text
    rules = {}
    if one.link is not None and (found.body.rules or found.body.split):
        rules = rule_fields(found.body, await services.rules.known(one.link))
    return msgspec.structs.replace(
        new,
        **rules,
        created_at=one.item.created_at,
        opening_clicks=one.item.clicks or 0,
        password_hash=hashed,
    )


def updated_fields(new: msgspec.Struct) -> Mapping[str, Any]:
    """Return the fields that a later import sets in a link that it has created before."""
    fields = msgspec.structs.asdict(new)
    return {name: value for name, value in fields.items() if name not in _KEPT}


def _conflict(decision: Decision, found: Candidate, taken: Mapping[str, str]) -> Decision | None:
    """Return the decision of a link of which something is taken; None if nothing is."""
    for name, field in found.takes.items():
        if name in taken:
            return decision.of("conflict", field, f"taken by {taken[name]}")
    return None


def _new(decision: Decision, found: Candidate) -> Decision:
    fields = ", ".join(dict.fromkeys(one.field for one in found.losses))
    outcome: Outcome = "lossy" if fields else "create"
    decision = decision._replace(candidate=found)
    return decision.of(outcome, fields, "; ".join(_told(found)), names=[*found.takes])


def _told(found: Candidate) -> list[str]:
    return [f"{one.field}: {one.reason}" for one in found.losses]


def _row(number: int, item: SourceLink) -> ImportRow:
    return ImportRow(
        number=number,
        row=item.row,
        outcome="create",
        domain=item.domain_name or "",
        path=item.path,
        destination_url=item.destination_url,
        internal_name=item.internal_name or "",
        tags="|".join(item.tags),
        source_link=item.id,
        source=kept(item),
    )
