"""`/api/imports`: receive what other services gave out, check it, import it, and take it back."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from tracker.access.principal import Principal
from tracker.clock import now
from tracker.errors import BadRequest, Forbidden, NotFound
from tracker.ids import new_id
from tracker.imports.api.schema import (
    CheckImport,
    CreateImport,
    ImportPreview,
    ImportRecord,
    ImportRowRecord,
    ListRows,
    SourceList,
    SourceRecord,
)
from tracker.imports.readers.csv_links import LINK_HEADINGS
from tracker.imports.reading import format_of
from tracker.imports.services import ImportCall, ImportServices
from tracker.imports.store import AWAITS_FILE, Action, Column, Import
from tracker.jobs.files import FileWriter
from tracker.stores.mongodb.transaction import MongoSession
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.export import Export
from tracker.web.resource import Resource, record_of
from tracker.web.schema import AccountPage, AccountQuery, Done, Page, sent_fields

endpoint = Endpoints("imports")


async def _records(services: ImportServices, found: Sequence[Import]) -> list[ImportRecord]:
    labels = {name: one.label for name, one in services.sources.items()}
    return [record_of(ImportRecord, one, source_label=labels[one.source]) for one in found]


IMPORTS: Resource[Import, ImportRecord] = Resource(
    "import",
    lambda call: call.services.imports.find(call.ids[0]),
    _records,
    "source",
)


@endpoint("GET", "/api/imports", "links:read")
async def list_own(call: ImportCall[AccountPage, Nothing]) -> Page[ImportRecord]:
    """List imports, newest first."""
    return await IMPORTS.list_page(call, call.services.imports)


@endpoint("GET", "/api/imports/sources", "links:read")
async def list_sources(call: ImportCall[AccountQuery, Nothing]) -> SourceList:
    """List the services whose links can be imported."""
    rows = [
        record_of(
            SourceRecord,
            one,
            files=[file.name for file in one.files],
            has_api=one.read_api is not None,
        )
        for one in call.services.sources.values()
    ]
    return SourceList(rows=rows)


@endpoint("POST", "/api/imports", "links:write", example={"source": "csv"}, idempotent=True)
async def create(call: ImportCall[Nothing, CreateImport]) -> ImportRecord:
    """Create an import. With `api` its links are read at once, else its file is sent next."""
    body, services = call.body, call.services
    source, sent = services.source(body.source), body.api
    api = await services.apis.open(source, sent.url, sent.key) if sent else None
    await services.check_domains(call.account_id, body.domains)
    new = Import(
        id=new_id(),
        account_id=call.account_id,
        created_at=now(),
        source=source.name,
        instance=body.instance or (api.host if api else ""),
        domains=body.domains,
    )

    async def record(session: MongoSession, created: Import) -> None:
        await call.audit("import.created", IMPORTS.audit_object(created), session=session)
        await call.keep(session, partial(IMPORTS.show, call, created))

    if api is not None and source.read_api is not None:
        new = await services.reading.begin(new, source.read_api(api.get), record)
    else:
        await services.imports.create(new, record)
    return await IMPORTS.show(call, new)


@endpoint("GET", "/api/imports/{id}", "links:read")
async def show(call: ImportCall[Nothing, Nothing]) -> ImportRecord:
    """Show an import, with its progress."""
    return await IMPORTS.show(call, await IMPORTS.find(call))


async def _receive(
    services: ImportServices, principal: Principal, ids: Sequence[UUID]
) -> FileWriter:
    one = await services.imports.find(ids[0])
    if one is None:
        raise NotFound("import: not found")
    if one.account_id != principal.account_id:
        raise Forbidden("import: belongs to another account")
    if one.state not in AWAITS_FILE:
        raise BadRequest(f"state: file is possible in {', '.join(AWAITS_FILE)}")
    return services.files.writer()


@endpoint.upload("/api/imports/{id}/file", "links:write", _receive, "sendImportFile")
async def send_file(call: ImportCall[Nothing, Nothing]) -> ImportRecord:
    """Send the file of an import, as it is: the body is the file."""
    received = await call.services.receive(await IMPORTS.find(call), call.upload)
    await call.audit("import.file_sent", IMPORTS.audit_object(received))
    return await IMPORTS.show(call, received)


@endpoint("GET", "/api/imports/{id}/preview", "links:read")
async def preview(call: ImportCall[Nothing, Nothing]) -> ImportPreview:
    """Show the beginning of an import's CSV, with the columns as guessed.

    Raises BadRequest if it has none.
    """
    one = await IMPORTS.find(call)
    preview_of = format_of(call.services.source(one.source), one).preview
    if preview_of is None or one.file_id is None:
        raise BadRequest("preview: only of a CSV that was sent")
    found = preview_of(await call.services.files.beginning(one.file_id))
    columns = [Column(field=name, number=number) for name, number in found.columns.items()]
    return record_of(ImportPreview, found, columns=columns)


@endpoint("POST", "/api/imports/{id}/check", "links:write", example={})
async def check(call: ImportCall[Nothing, CheckImport]) -> ImportRecord:
    """Begin a dry run: what would become of each row.

    Raises BadRequest for unknown columns, or if there is nothing to check.
    """
    one, fields = await IMPORTS.find(call), sent_fields(call.body)
    if one.state == "failed" and one.file_id is None:
        raise BadRequest("file: there is none, for the API could not be read; send one")
    fields.pop("account_id")
    names = [one.field for one in fields.get("columns", [])]
    if len(set(names)) < len(names) or not LINK_HEADINGS.keys() >= set(names):
        raise BadRequest(f"columns: field must be {' or '.join(LINK_HEADINGS)}, each once")
    await call.services.check_domains(call.account_id, fields.get("domains", []))
    return await act_on(call, "check", fields)


def _action(action: Action, summary: str) -> None:
    @endpoint("POST", f"/api/imports/{{id}}/{action}", "links:write", summary=summary)
    async def act(call: ImportCall[Nothing, Nothing]) -> ImportRecord:
        return await act_on(call, action, {})


_action("run", "Begin to import the checked rows")
_action("pause", "Pause an import that runs")
_action("resume", "Carry on with a paused import")
_action("cancel", "Cancel an import. What it has imported stays, and can be taken back")
_action("undo", "Take back what an import has created and nobody has changed")


async def act_on(
    call: ImportCall[Any, Any], action: Action, fields: Mapping[str, Any]
) -> ImportRecord:
    one = await IMPORTS.find(call)
    changed = await call.services.imports.act(
        one, action, msgspec.to_builtins(fields, builtin_types=(UUID,))
    )
    if action == "cancel":
        await call.services.files.delete(one.file_id)
    await call.audit(f"import.{action}", IMPORTS.audit_object(one))
    return await IMPORTS.show(call, changed)


async def _all_rows(
    call: ImportCall[ListRows, Nothing],
) -> AsyncGenerator[list[ImportRowRecord], None]:
    one = await IMPORTS.find(call)
    async for rows in call.services.rows.each(one.id, call.query.outcome):
        yield [record_of(ImportRowRecord, row) for row in rows]


@endpoint(
    "GET",
    "/api/imports/{id}/rows",
    "links:read",
    export=Export(
        "import", "Export all rows of an import, as CSV or NDJSON", ImportRowRecord, _all_rows
    ),
)
async def list_rows(call: ImportCall[ListRows, Nothing]) -> Page[ImportRowRecord]:
    """List the rows of an import: what becomes, or became, of each link of the source."""
    one, query = await IMPORTS.find(call), call.query
    rows, total = await call.services.rows.page(one.id, query.outcome, query.page, query.page_size)
    return query.page_of([record_of(ImportRowRecord, row) for row in rows], total)


@endpoint("DELETE", "/api/imports/{id}", "links:write")
async def delete(call: ImportCall[Nothing, Nothing]) -> Done:
    """Delete an import and its rows. Its links stay, and are known if they are imported again."""
    one = await IMPORTS.find(call)
    await call.services.imports.delete(one.id)
    await call.services.files.delete(one.file_id)
    await call.services.rows.delete(one.id)
    await call.audit("import.deleted", IMPORTS.audit_object(one))
    return Done()
