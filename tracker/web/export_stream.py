"""Exports as answers: rows are fetched as fast as the client reads.

A failing export cuts its connection, so that nobody mistakes a part for the whole. It also ends
with the access that opened it, and after EXPORT_SECONDS.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Any, Final, cast

import structlog
from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler

from tracker.clock import iso, now
from tracker.errors import TrackerError, Unauthorized, Unavailable
from tracker.http.exchange import Exchange
from tracker.limits.running_exports import RETRY_SECONDS
from tracker.loops import cancel_and_wait
from tracker.metrics import EXPORTS_CUT
from tracker.web.call import Call
from tracker.web.export import MEDIA_TYPES, Export, FileFormat
from tracker.web.export_rows import NDJSON, csv_encoder

log = structlog.get_logger(__name__)

EXPORT_SECONDS: Final = 900.0
"""The time limit of an export: a slow client holds one of few permits. A million clicks take a
minute and a million conversions two, in a process that stays at 110 MB."""

PIECE_ROWS: Final = 100
"""Rows that are made and sent together: about 2 ms of the event loop."""


def pieces(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for first in range(0, len(rows), PIECE_ROWS):
        yield rows[first : first + PIECE_ROWS]


class ExportStream:
    """The answer of one request with an export in one format."""

    def __init__(
        self,
        handler: RequestHandler,
        export: Export,
        file_format: FileFormat,
        call: Call[Any, Any, Any],
    ) -> None:
        self._handler = handler
        self._export = export
        self._format = file_format
        self._call = call
        self._begun = False
        self._is_disconnected = False
        # Done with the reason, if the export ends before it is complete.
        self._ended: asyncio.Future[TrackerError] = asyncio.get_running_loop().create_future()

    async def send(self) -> None:
        """Send all rows, or cut the connection if that fails in the middle.

        Raises RateLimited or Unavailable if too many exports run, or the rows' first error.
        """
        call = self._call
        with call.web.exports.running(call.account_id, self.end):
            writing = asyncio.create_task(self._write())
            too_long = f"not done after {EXPORT_SECONDS:.0f} seconds"
            timer = asyncio.get_running_loop().call_later(EXPORT_SECONDS, self.end, too_long)
            try:
                either: list[asyncio.Future[Any]] = [writing, self._ended]
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                timer.cancel()
                await cancel_and_wait(writing)
        self._conclude(writing)

    def end(self, reason: str) -> None:
        """End the export early, for a reason that a retry may avoid."""
        retry = {"Retry-After": str(RETRY_SECONDS)}
        self._end(Unavailable(f"export: {reason}; try again", retry))

    def on_disconnect(self) -> None:
        self._is_disconnected = True
        self.end("the client has disconnected")

    def on_access_ended(self) -> None:
        self._end(Unauthorized("export: the access that opened it has ended"))

    def _end(self, error: TrackerError) -> None:
        if not self._ended.done():
            self._ended.set_result(error)

    async def _write(self) -> None:
        encoder = NDJSON
        if self._format == "csv":
            export, call = self._export, self._call
            names = export.columns(call) if export.columns else None
            further = await export.account_columns(call) if export.account_columns else ()
            encoder = csv_encoder(export.record, names, further)
        async with aclosing(self._export.rows(self._call)) as found:
            async for rows in found:
                await self._call.web.pacing.wait_turn()
                await self._put(encoder.head, encoder.encode(rows))
                if self._handler.request.method == "HEAD":  # by now it has all errors of a GET
                    return
        await self._put(encoder.head, b"")

    async def _put(self, head: bytes, lines: bytes) -> None:
        await self._call.web.open_answers.wait_until_checked()
        if self._ended.done():
            raise self._ended.result()
        if not self._begun:
            self._begun = True
            self._set_headers()
            lines = head + lines
        self._handler.write(lines)
        # Waits while the client does not read.
        await self._handler.flush()

    def _set_headers(self) -> None:
        name = f"{self._export.name}-{iso(now())[:10]}.{self._format}"
        self._handler.set_header("Content-Type", f"{MEDIA_TYPES[self._format]}; charset=utf-8")
        self._handler.set_header("Content-Disposition", f'attachment; filename="{name}"')

    def _conclude(self, writing: asyncio.Task[None]) -> None:
        """Cut the connection if the answer is incomplete. Raises the error if it has not begun."""
        error = self._ended.result() if writing.cancelled() else writing.exception()
        if error is None or self._is_disconnected or isinstance(error, StreamClosedError):
            return
        if not self._begun:
            raise error
        EXPORTS_CUT.inc()
        expected = isinstance(error, TrackerError)
        # Nothing is wrong if an access has ended.
        write = log.info if isinstance(error, Unauthorized) else log.error
        write(
            "export cut",
            export=self._export.name,
            reason=str(error) if expected else type(error).__name__,
            exc_info=None if expected else error,
        )
        cast("Exchange", self._handler.request.connection).cut()
