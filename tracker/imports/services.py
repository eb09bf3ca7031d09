"""Imports: their stores, the table of sources, and what works on them."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from tornado.simple_httpclient import SimpleAsyncHTTPClient

from tracker.errors import BadRequest
from tracker.imports.files import Files, FileWriter
from tracker.imports.reading import ApiReading, format_of
from tracker.imports.rows import ImportRows
from tracker.imports.source import FileFormat, Source
from tracker.imports.source_api import HttpApi, http_client, source_api
from tracker.imports.store import DomainChoice, Import, Imports
from tracker.imports.worker import Worker
from tracker.links.services import LinkServices
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query
from tracker.webhooks.services import WebhookServices

_FORMAT_BYTES: Final = 64 * 1024


class ImportServices(NamedTuple):
    """The imports of a process. `http` asks the APIs of sources."""

    imports: Imports
    rows: ImportRows
    files: Files
    reading: ApiReading
    worker: Worker
    sources: Mapping[str, Source]
    http: SimpleAsyncHTTPClient
    links: LinkServices
    webhooks: WebhookServices

    def source(self, name: str) -> Source:
        """Return a source. Raises BadRequest, naming all, if there is none."""
        if name not in self.sources:
            raise BadRequest(f"source: must be {' or '.join(sorted(self.sources))}")
        return self.sources[name]

    async def api(self, source: Source, url: str, key: str) -> HttpApi:
        return await source_api(self.http, self.webhooks, source, url, key)

    def format(self, one: Import) -> FileFormat:
        return format_of(self.source(one.source), one)

    async def check_domains(self, account_id: UUID, domains: Sequence[DomainChoice]) -> None:
        """Raises BadRequest if a name is repeated, or a chosen domain is not the account's."""
        if len({one.name for one in domains}) < len(domains):
            raise BadRequest("domains: a name is repeated")
        for domain_id in {one.domain_id for one in domains if one.domain_id}:
            found = await self.links.domains.find(domain_id)
            if found is None or found.account_id != account_id:
                raise BadRequest(f"domains: not a domain of the account: {domain_id}")

    async def receive(self, one: Import, file: FileWriter) -> Import:
        """Take a received file. Raises BadRequest if no kind of file of the source fits."""
        await file.close()
        beginning = b""
        async for piece in self.files.read(file.id):
            beginning = piece[:_FORMAT_BYTES]
            break
        kinds = self.source(one.source).files
        kind = next((kind for kind in kinds if kind.fits(beginning)), None)
        if kind is None or not beginning:
            await self.files.delete(file.id)
            named = " or ".join(kind.name for kind in kinds) or "none; give an API"
            raise BadRequest(f"file: must be {named}")
        found = {"format": kind.name, "file_id": file.id, "file_bytes": file.size}
        received = await self.imports.set_file(one, found)
        await self.files.delete(one.file_id)
        return received

    async def delete(self, one: Import) -> None:
        """Delete an import with its file and rows. Raises BadRequest if it is at work."""
        await self.imports.delete(one.id)
        await self.files.delete(one.file_id)
        await self.rows.delete(one.id)


def build(
    *,
    stores: StoreServices,
    links: LinkServices,
    webhooks: WebhookServices,
    sources: Sequence[Source],
) -> ImportServices:
    mongodb, named = stores.mongodb, {one.name: one for one in sources}
    imports, rows, files = Imports(mongodb), ImportRows(mongodb), Files(mongodb)
    return ImportServices(
        imports=imports,
        rows=rows,
        files=files,
        reading=ApiReading(imports, files),
        worker=Worker(mongodb, imports, rows, files, links, named),
        sources=named,
        http=http_client(webhooks, links),
        links=links,
        webhooks=webhooks,
    )


ImportCall = Call[ImportServices, Query, Body]
