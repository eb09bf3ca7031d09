"""Uploads in MongoDB: what they are, the steps that they take, and their refused rows."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final, Literal
from uuid import UUID

import msgspec
from msgspec import field

from tracker.clock import now
from tracker.conversions.api.postback_keys import SHOWN_CHARACTERS, shorten_key
from tracker.conversions.postbacks.parameters import MAX_PBK_CHARACTERS
from tracker.jobs.store import Job, Jobs, Step
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_struct, run_updates
from tracker.stores.mongodb.order import OLDEST_FIRST
from tracker.stores.mongodb.paging import Pages, all_of
from tracker.uploads.forms import FormName, Row

State = Literal["checking", "checked", "running", "done", "cancelled", "failed"]

MAX_UPLOADS: Final = 5000

_STEPS: Final[Mapping[str, Step]] = {
    "check": Step("checking", ("checked", "failed", "cancelled")),
    "run": Step("running", ("checked",)),
    "cancel": Step("cancelled", ("checking", "checked", "running"), goes_on=True),
}


class Upload(Job, frozen=True, kw_only=True):
    """An upload. Its file has `lines`; counts are rows by outcome.

    `event_config_id` is None if a column names postback keys. Without `columns` they are guessed,
    or those of the form.
    """

    form: FormName
    state: State = "checking"
    event_config_id: UUID | None = None
    columns: list[str] = field(default_factory=list)
    notify: bool = True
    lines: int = 0

    @property
    def actor(self) -> str:
        return f"upload:{self.id}"


class RefusedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that was refused, and why. `text` is its beginning, as it was sent."""

    line: int
    reason: str
    text: str


class Uploads(Jobs[Upload]):
    """The uploads of all accounts. MongoDB removes them after 90 days, refused rows too."""

    noun = "upload"
    most = MAX_UPLOADS
    remedy = "each is kept for 90 days"
    working = ("checking", "running")
    steps = _STEPS

    def __init__(self, mongodb: MongoDB) -> None:
        super().__init__(mongodb, Upload)
        self._rows = mongodb["upload_rows"]
        self._mongodb = mongodb
        self._pages = Pages(mongodb.reads, "upload_rows", RefusedRow)

    async def refuse(self, upload_id: UUID, refused: Sequence[tuple[Row, str]]) -> None:
        """Store refused rows with their reasons, in place of those of the same lines."""
        of = {"upload_id": upload_id, "at": now()}
        updates = [
            {
                "q": {"_id": UUID(int=upload_id.int + row.line)},  # in the order of lines
                "u": {"$set": {**of, "line": row.line, "reason": reason, "text": _shown(row)}},
                "upsert": True,
            }
            for row, reason in refused
        ]
        await run_updates(self._mongodb.database, "upload_rows", updates)

    async def refused(
        self, upload_id: UUID, page: int, page_size: int
    ) -> tuple[list[RefusedRow], int]:
        matching = {"upload_id": upload_id}
        return await self._pages.find(matching, page, page_size, OLDEST_FIRST, "by_upload")

    async def all_refused(self, upload_id: UUID) -> AsyncGenerator[list[RefusedRow], None]:
        of = {"upload_id": upload_id}
        async for rows in all_of(self._mongodb.reads, "upload_rows", of, OLDEST_FIRST, "by_upload"):
            yield [as_struct(RefusedRow, row) for row in rows]

    async def forget_refused(self, upload_id: UUID) -> None:
        await self._rows.delete_many({"upload_id": upload_id})


def _shown(row: Row) -> str:
    """Return the text of a row. More people may read it than may read postback keys."""
    pbk = str(row.fields.get("pbk", ""))
    is_key = SHOWN_CHARACTERS < len(pbk) <= MAX_PBK_CHARACTERS
    return shorten_key(row.text, pbk) if is_key else row.text
