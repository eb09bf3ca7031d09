"""Cursors of feeds: where a page starts, for one account and feed."""

import struct
from datetime import datetime
from typing import Final
from uuid import UUID

from tracker.clock import moment
from tracker.errors import BadRequest
from tracker.feeds.arrivals import FeedName
from tracker.feeds.page import Bookmark, PageStart, TimePosition
from tracker.ids import MAX_EVENT_ID
from tracker.syntax.checked_text import checked_bytes, checked_text

MAX_CURSOR_CHARACTERS: Final = 1000
"""Longer than a bookmark of all drain numbers."""

_TIME: Final = struct.Struct(">Q")
_EVENT_ID: Final = struct.Struct(">Q")
_DRAIN_POSITION: Final = struct.Struct(">BQ")
_KINDS: Final[dict[type[PageStart], str]] = {TimePosition: "Position", Bookmark: "Bookmark"}
"""Names in the checksum: with others, the cursors that clients have stored would be refused."""

_MAX_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""


class FeedCursors:
    """The cursors of one feed of an account."""

    def __init__(self, feed: FeedName, account_id: UUID) -> None:
        self._feed = feed
        self._account_id = account_id

    def cursor_of(self, start: PageStart) -> str:
        return checked_text(_packed(start), self._account_id.bytes, self._purpose(type(start)))

    def position_of(self, cursor: str) -> TimePosition:
        """Return the position of a cursor. Raises BadRequest if it is not from `cursor_of`."""
        try:
            at, packed_id = self._unpacked(TimePosition, cursor)
            return TimePosition(at, self._id(packed_id))
        except (ValueError, struct.error):
            raise BadRequest(f"cursor: must be the next_cursor of a page {self._of}") from None

    def bookmark_of(self, cursor: str) -> Bookmark:
        """Return the bookmark of a cursor. Raises BadRequest if it is not from `cursor_of`."""
        try:
            at, packed = self._unpacked(Bookmark, cursor)
            return Bookmark(at, dict(_DRAIN_POSITION.iter_unpack(packed)))
        except (ValueError, struct.error):
            raise BadRequest(f"since: must be the since_cursor of a page {self._of}") from None

    @property
    def _of(self) -> str:
        return f"of the same account's {self._feed}"

    def _id(self, packed: bytes) -> UUID | int:
        if self._feed is FeedName.CLICKS:
            return UUID(bytes=packed)
        [event_id] = _EVENT_ID.unpack(packed)
        if event_id > MAX_EVENT_ID:
            raise ValueError("no event has such an id")
        return int(event_id)

    def _unpacked(self, kind: type[PageStart], cursor: str) -> tuple[datetime, bytes]:
        """Return the time and the remaining bytes. Raises ValueError or struct.error."""
        if len(cursor) > MAX_CURSOR_CHARACTERS:
            raise ValueError("too long")
        packed = checked_bytes(cursor, self._account_id.bytes, self._purpose(kind))
        [ms] = _TIME.unpack(packed[: _TIME.size])
        if ms > _MAX_MS:
            raise ValueError("no such time")
        return moment(ms), packed[_TIME.size :]

    def _purpose(self, kind: type[PageStart]) -> str:
        return f"{self._feed[:6]} {_KINDS[kind]}"[:16]


def _packed(start: PageStart) -> bytes:
    time = _TIME.pack(round(start.at.timestamp() * 1000))
    if isinstance(start, Bookmark):
        return time + b"".join(
            _DRAIN_POSITION.pack(*one) for one in sorted(start.positions.items())
        )
    return time + (start.id.bytes if isinstance(start.id, UUID) else _EVENT_ID.pack(start.id))
