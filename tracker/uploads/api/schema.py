"""The requests and answers of uploads."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, field

from tracker.uploads.forms import HEADINGS, FormName
from tracker.uploads.store import State
from tracker.web.export import FormatIn
from tracker.web.schema import AccountId, Paged, Timestamp

Columns = Annotated[
    str,
    Meta(
        max_length=500,
        description=f"what the columns are, in their order, with commas: of {', '.join(HEADINGS)}; "
        "nothing for a column that is not read. Empty: guessed, or those of the form",
    ),
]


class SendUpload(msgspec.Struct, kw_only=True):
    """How the file is read, and what becomes of it."""

    account_id: AccountId = field(name="accountId")
    form: FormName = "csv"
    event: Annotated[
        UUID | None, Meta(description="the event configuration; none: each row has a pbk")
    ] = None
    columns: Columns = ""
    dry_run: Annotated[bool, Meta(description="true: check the rows, and record nothing")] = False
    notify: Annotated[bool, Meta(description="false: no webhook is told")] = True


class CheckUpload(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Other columns to read the file by."""

    account_id: AccountId = field(name="accountId")
    columns: Columns


class UploadRecord(msgspec.Struct, kw_only=True):
    """An upload."""

    id: UUID
    account_id: UUID
    created_at: Timestamp
    form: FormName
    state: State
    event: UUID | None
    columns: str
    notify: bool
    file_bytes: int
    lines: Annotated[int, Meta(description="of the file")]
    position: Annotated[int, Meta(description="rows that are done")]
    counts: Annotated[
        dict[str, int],
        Meta(
            description="rows by outcome: recorded, restated, same, refused. Of a dry run: would be"
        ),
    ]
    error: str | None


class ListRefused(Paged, kw_only=True):
    """The page of refused rows to list."""

    format: FormatIn = UNSET
