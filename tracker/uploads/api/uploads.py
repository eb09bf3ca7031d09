"""`/api/conversions/uploads`: receive files of conversions, check them, record them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from pymongo.errors import ConnectionFailure

from tracker.access.principal import Principal
from tracker.clock import now
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.jobs.files import FileWriter
from tracker.stores.mongodb.transaction import MongoSession
from tracker.uploads.api.schema import (
    CheckUpload,
    ListRefused,
    SendUpload,
    UploadRecord,
)
from tracker.uploads.forms import UploadPreview, check_columns, preview
from tracker.uploads.services import UploadCall, UploadServices
from tracker.uploads.store import RefusedRow, Upload
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.export import Export
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import AccountPage, Page

endpoint = Endpoints("uploads")

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
MAX_ROWS: Final = 50_000
_LINES_BESIDES: Final = 2
"""Headings, and Excel's line that names the delimiter."""


def _record(one: Upload) -> UploadRecord:
    columns = ",".join(one.columns)
    return record_of(UploadRecord, one, event=one.event_config_id, columns=columns)


UPLOADS: Resource[Upload, UploadRecord] = Resource(
    "upload", lambda call: call.services.uploads.find(call.ids[0]), one_by_one(_record), "form"
)


async def _receive(services: UploadServices, _: Principal, __: Sequence[UUID]) -> FileWriter:
    return services.files.writer()


@endpoint.upload(
    "/api/conversions/upload",
    "conversions:write",
    _receive,
    "uploadConversions",
    MAX_FILE_BYTES,
    idempotent=True,
)
async def send(call: UploadCall[SendUpload, Nothing]) -> UploadRecord:
    """Send a file of conversions, as it is: the body is the file. Its rows are recorded next.

    Raises BadRequest if it is empty or too long.
    """
    query, file = call.query, call.upload
    columns = _columns(query.columns)
    try:
        check_columns(query.form, columns)
        await _check_event(call, query.event)
        await file.close()
        if not file.size:
            raise BadRequest("body: must be a file")
        if file.lines > MAX_ROWS + _LINES_BESIDES:
            raise BadRequest(f"file: at most {MAX_ROWS} rows")
        new = Upload(
            id=new_id(),
            account_id=call.account_id,
            created_at=now(),
            leased_until=now(),
            form=query.form,
            state="checking" if query.dry_run else "running",
            event_config_id=query.event,
            columns=columns,
            notify=query.notify,
            file_id=file.id,
            file_bytes=file.size,
            lines=file.lines,
        )
        file.is_kept = True  # even if the sender disconnects now
        await call.services.uploads.create(new, partial(_record_creation, call))
    except ConnectionFailure:  # it may be stored; MongoDB removes forgotten files
        raise
    except BaseException:
        await call.services.files.delete(file.id)
        raise
    return _record(new)


async def _record_creation(
    call: UploadCall[Any, Any], session: MongoSession, created: Upload
) -> None:
    await call.audit("upload.created", UPLOADS.audit_object(created), session=session)
    await call.keep(session, partial(UPLOADS.show, call, created))


def _columns(text: str) -> list[str]:
    return [one.strip() for one in text.split(",")] if text.strip() else []


async def _check_event(call: UploadCall[Any, Any], event: UUID | None) -> None:
    if event is not None:
        found = await call.services.conversions.event_configs.find(event)
        if found is None or found.archived or found.account_id != call.account_id:
            raise BadRequest(f"event: no event configuration of the account: {event}")


@endpoint("GET", "/api/conversions/uploads", "conversions:read")
async def list_own(call: UploadCall[AccountPage, Nothing]) -> Page[UploadRecord]:
    """List uploads, newest first."""
    return await UPLOADS.list_page(call, call.services.uploads)


@endpoint("GET", "/api/conversions/uploads/{id}", "conversions:read")
async def show(call: UploadCall[Nothing, Nothing]) -> UploadRecord:
    """Show an upload, with its progress."""
    return _record(await UPLOADS.find(call))


@endpoint(
    "GET",
    "/api/conversions/uploads/{id}/preview",
    "conversions:write",
)
async def show_preview(call: UploadCall[Nothing, Nothing]) -> UploadPreview:
    """Show the beginning of an upload's file, with its columns as given or guessed.

    Raises BadRequest if it has none.
    """
    one = await UPLOADS.find(call)
    if one.file_id is None or one.form == "ndjson":
        raise BadRequest("preview: only of a file with columns that is still stored")
    head = await call.services.files.beginning(one.file_id)
    return preview(one.form, one.columns, head)


@endpoint(
    "POST",
    "/api/conversions/uploads/{id}/check",
    "conversions:write",
    example={"columns": "click_id,value"},
)
async def check(call: UploadCall[Nothing, CheckUpload]) -> UploadRecord:
    """Begin another dry run of an upload. Raises BadRequest if its file is gone."""
    one, columns = await UPLOADS.find(call), _columns(call.body.columns)
    check_columns(one.form, columns)
    if one.file_id is None:
        raise BadRequest("file: is no longer stored; send it again")
    return await _act(call, "check", {"columns": columns})


def _action(action: str, summary: str) -> None:
    path = f"/api/conversions/uploads/{{id}}/{action}"

    @endpoint("POST", path, "conversions:write", summary=summary)
    async def act(call: UploadCall[Nothing, Nothing]) -> UploadRecord:
        return await _act(call, action, {})


_action("run", "Begin to record the checked rows")
_action("cancel", "Cancel an upload. What it has recorded stays")


async def _act(call: UploadCall[Any, Any], action: str, fields: Mapping[str, Any]) -> UploadRecord:
    one = await UPLOADS.find(call)
    changed = await call.services.uploads.act(one, action, fields)
    await call.audit(f"upload.{action}", UPLOADS.audit_object(one))
    return _record(changed)


async def _all_rejected(
    call: UploadCall[ListRefused, Nothing],
) -> AsyncGenerator[list[RefusedRow], None]:
    one = await UPLOADS.find(call)
    async for rows in call.services.uploads.all_refused(one.id):
        yield rows


@endpoint(
    "GET",
    "/api/conversions/uploads/{id}/rejected",
    "conversions:read",
    export=Export(
        "rejected",
        "Export the refused rows of an upload, as CSV or NDJSON",
        RefusedRow,
        _all_rejected,
    ),
    operation_id="listRejectedRows",
)
async def list_rejected(call: UploadCall[ListRefused, Nothing]) -> Page[RefusedRow]:
    """List the refused rows of an upload, with line and reason."""
    one, query = await UPLOADS.find(call), call.query
    rows, total = await call.services.uploads.refused(one.id, query.page, query.page_size)
    return query.page_of(rows, total)
