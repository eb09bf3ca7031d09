"""Imports: their stores, the table of sources, and what works on them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from tracker.clicks.services import ClickServices
from tracker.dns.resolver import HostResolver
from tracker.errors import BadRequest
from tracker.imports.reading import ApiReading
from tracker.imports.rows import ImportRows
from tracker.imports.source import Source
from tracker.imports.source_api import SourceApis
from tracker.imports.store import DomainChoice, Import, Imports
from tracker.imports.visits import ImportedVisits
from tracker.imports.worker import Worker
from tracker.jobs.files import Files, FileWriter
from tracker.journal.services import JournalServices
from tracker.links.services import LinkServices
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query
from tracker.webhooks.services import WebhookServices


class ImportServices(NamedTuple):
    """The imports of a process."""

    imports: Imports
    rows: ImportRows
    files: Files
    apis: SourceApis
    reading: ApiReading
    worker: Worker
    sources: Mapping[str, Source]
    links: LinkServices
    dns: HostResolver

    def source(self, name: str) -> Source:
        """Return a source. Raises BadRequest, naming all, if there is none."""
        if name not in self.sources:
            raise BadRequest(f"source: must be {' or '.join(sorted(self.sources))}")
        return self.sources[name]

    async def check_domains(self, account_id: UUID, domains: Sequence[DomainChoice]) -> None:
        """Raises BadRequest if a name is repeated, or a chosen domain is not the account's."""
        if len({one.name for one in domains}) < len(domains):
            raise BadRequest("domains: a name is repeated")
        for domain_id in {one.domain_id for one in domains if one.domain_id}:
            found = await self.links.domains.find(domain_id)
            if found is None or found.account_id != account_id:
                raise BadRequest(f"domains: not a domain of the account: {domain_id}")

    async def receive(self, one: Import, file: FileWriter) -> Import:
        """Take a received file. Raises BadRequest if it is none that the source gives out."""
        await file.close()
        beginning = await self.files.beginning(file.id)
        kinds = self.source(one.source).files
        kind = next((kind for kind in kinds if beginning and kind.fits(beginning)), None)
        if kind is None:
            await self.files.delete(file.id)
            raise BadRequest(f"file: must be {' or '.join(one.name for one in kinds)}")
        found: dict[str, Any] = {
            "total": None,
            "columns": [],
            "format": kind.name,
            "file_id": file.id,
            "file_bytes": file.size,
        }
        file.is_kept = True  # even if the sender disconnects now
        try:
            received = await self.imports.act(one, "file", found)
        except BadRequest:
            await self.files.delete(file.id)
            raise
        await self.files.delete(one.file_id)
        return received


def build(
    *,
    stores: StoreServices,
    links: LinkServices,
    webhooks: WebhookServices,
    clicks: ClickServices,
    journal: JournalServices,
    sources: Mapping[str, Source],
) -> ImportServices:
    mongodb, named = stores.mongodb, dict(sources)
    imports, rows, files = Imports(mongodb), ImportRows(mongodb), Files(mongodb)
    visits = ImportedVisits(
        mongodb, stores.redis, clicks.enrichment, webhooks.queue, journal.journal
    )
    return ImportServices(
        imports=imports,
        rows=rows,
        files=files,
        apis=SourceApis(webhooks),
        reading=ApiReading(imports, files, links.passwords),
        worker=Worker(mongodb, imports, rows, files, links, named, visits, clicks.paths),
        sources=named,
        links=links,
        dns=webhooks.dns,
    )


ImportCall = Call[ImportServices, Query, Body]
