"""The work on uploads: each row is checked and recorded as a postback would be.

The position moves on once all rows of a chunk are in Redis. A killed worker repeats at most a
chunk. Its rows state what they stated, so nothing changes; they may count as `same`.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from redis.exceptions import RedisError

from tracker.conversions.document import ConversionDocument, TransactionId, transaction_id_of
from tracker.conversions.event_config import EventConfig
from tracker.conversions.resolution import Origin
from tracker.conversions.services import ConversionServices
from tracker.errors import BadRequest, NotFound, TrackerError, Unavailable
from tracker.jobs.files import Files
from tracker.jobs.worker import JobWorker, chunks
from tracker.journal.overflow import BEHIND_MS
from tracker.journal.services import JournalServices
from tracker.loops import wait
from tracker.uploads.forms import Row, read_rows
from tracker.uploads.rows import Told, are_stored, is_stored, told
from tracker.uploads.store import Upload, Uploads

ROWS_PER_CHUNK: Final = 200
_BEHIND_SECONDS: Final = 0.5


class UploadWorker(JobWorker[Upload]):
    """The work of one process, on one upload at a time."""

    def __init__(
        self,
        uploads: Uploads,
        files: Files,
        conversions: ConversionServices,
        journal: JournalServices,
    ) -> None:
        super().__init__(uploads)
        self._uploads = uploads
        self._files = files
        self._conversions = conversions
        self._journal = journal
        self._appending = asyncio.Lock()
        self._is_closed = False

    async def close(self) -> None:
        """Finish the chunk in progress, and append no other: the journal is closed next."""
        async with self._appending:
            self._is_closed = True

    async def work(self, held: Upload, stop: asyncio.Event) -> dict[str, Any] | None:
        """Check or record the rows of an upload. Raises BadRequest if its file is broken.

        Raises Unavailable if it has to wait for Redis, or the service stops.
        """
        position = held.position
        if not position:
            await self._uploads.forget_refused(held.id)
        pieces = self._files.read(held.file_id or held.id, held.file_bytes)
        rows = read_rows(held.form, held.columns, pieces)
        async for items in chunks(rows, position, ROWS_PER_CHUNK):
            await self._wait_for_drains(stop)
            if stop.is_set():
                return None
            await self._uploads.advance(held)  # raises if somebody has cancelled it
            async with self._appending:
                if self._is_closed:
                    raise Unavailable("the service stops; another process carries on")
                counts = await self._chunk(held, [row for _, row in items])
                await self._empty_spool()
            position += len(items)
            await self._uploads.advance(held, {"position": position, "attempts": 0}, counts)
        if held.state == "checking":
            return {"state": "checked"}
        await self._files.delete(held.file_id)
        return {"state": "done", "file_id": None}

    async def _wait_for_drains(self, stop: asyncio.Event) -> None:
        """Wait while drains are behind. Raises Unavailable without Redis."""
        try:
            while (await self._journal.backlog.measure()).oldest_ms > BEHIND_MS:
                if await wait(stop, _BEHIND_SECONDS):
                    return
        except RedisError as error:
            raise Unavailable("redis: is away; try again") from error

    async def _empty_spool(self) -> None:
        """Move what was spooled. Raises Unavailable if it stays: a drain has nobody to do it."""
        journal = self._journal.journal
        while not await journal.spool.is_empty():
            if not await journal.replay_once():
                raise Unavailable("redis: is away; try again")

    async def _chunk(self, held: Upload, rows: Sequence[Row]) -> Mapping[str, int]:
        refused, outcomes = list[tuple[Row, str]](), Counter[str]()
        home = (await self._conversions.account_rules.cached(held.account_id)).currency
        at = int(held.created_at.timestamp() * 1000)
        groups = await self._groups(held, rows, refused)
        stored = await self._conversions.store.stored_or_holding((), groups)
        known = {transaction_id_of(one): one for one in stored.values()}

        async def tell(drafts: Sequence[Told]) -> None:
            """Tell of one conversion, one row after the other."""
            event = known.get(drafts[0].key)
            if event and len(drafts) > 1 and are_stored(event, drafts, at, home):
                outcomes["same"] += len(drafts)
                return
            for draft in drafts:
                try:
                    outcomes[await self._tell(held, draft, event, at, home)] += 1
                except TrackerError as error:
                    refused.append((draft.row, _reason(error)))

        # All of them end before the journal may be closed.
        ended = await asyncio.gather(*map(tell, groups.values()), return_exceptions=True)
        for error in filter(None, ended):
            raise error
        await self._uploads.refuse(held.id, refused)
        return +(outcomes + Counter(refused=len(refused)))

    async def _groups(
        self, held: Upload, rows: Sequence[Row], refused: list[tuple[Row, str]]
    ) -> dict[TransactionId, list[Told]]:
        """Return the rows by the conversion that they are about, and add those that break rules."""
        groups = dict[TransactionId, list[Told]]()
        named = held.event_config_id
        config = await self._conversions.event_configs.find(named) if named else None
        for row in rows:
            try:
                draft = told(row, await self._config(held, row, config))
            except TrackerError as error:
                refused.append((row, _reason(error)))
            else:
                groups.setdefault(draft.key, []).append(draft)
        return groups

    async def _config(self, held: Upload, row: Row, config: EventConfig | None) -> EventConfig:
        """Return the event configuration of a row. Raises BadRequest if it is not the account's."""
        if row.error:
            raise BadRequest(row.error)
        if held.event_config_id is None:
            if "pbk" not in row.fields:
                raise BadRequest("pbk: required in each row, because the upload names no event")
            pbk = str(row.fields["pbk"])
            config = await self._conversions.event_configs.by_postback_key(pbk, "")
        if config is None or config.archived or not config.active:
            raise NotFound("pbk: no active event configuration has this postback key")
        if config.account_id != held.account_id:
            raise BadRequest("pbk: belongs to another account")
        return config

    async def _tell(
        self, held: Upload, one: Told, event: ConversionDocument | None, at: int, home: str | None
    ) -> str:
        """Record a row; return its outcome."""
        origin = Origin(held.actor, at, held.notify, is_dry_run=held.state == "checking")
        recorded = await self._conversions.recorder.record(one.parameters, origin=origin)
        if recorded.is_duplicate or (event is not None and is_stored(event, one, at, home)):
            return "same"
        return "restated" if recorded.is_updated else "recorded"


def _reason(error: TrackerError) -> str:
    """Return why a row is refused. Raises the error if it is no fault of the row."""
    if isinstance(error, Unavailable):
        raise error
    return error.message
