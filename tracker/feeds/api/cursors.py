"""Cursors of feeds: where a page starts, for one account and feed."""

import struct
from typing import Final
from uuid import UUID

from tracker.clock import moment
from tracker.feeds.arrivals import FeedName
from tracker.feeds.page import Bookmark, PageStart, TimePosition
from tracker.syntax.checked_text import checked_bytes, checked_text

MAX_CURSOR_CHARACTERS: Final = 1000
"""Longer than a bookmark of all drain numbers."""

_TIME: Final = struct.Struct(">Q")
_EVENT_ID: Final = struct.Struct(">q")
_DRAIN_POSITION: Final = struct.Struct(">BQ")
_KINDS: Final[dict[type[PageStart], str]] = {TimePosition: "Position", Bookmark: "Bookmark"}
"""Names in the checksum: with other names, cursors that clients have stored would be refused."""


class FeedCursors:
    """The cursors of one feed of an account."""

    def __init__(self, feed: FeedName, account_id: UUID) -> None:
        self._feed = feed
        self._account_id = account_id

    def cursor_of(self, start: PageStart) -> str:
        return checked_text(_packed(start), self._account_id.bytes, self._purpose(type(start)))

    def start_of(self, kind: type[PageStart], cursor: str) -> PageStart:
        """Return what `cursor_of` got. Raises ValueError if the cursor is no such one."""
        if len(cursor) > MAX_CURSOR_CHARACTERS:
            raise ValueError("too long")
        packed = checked_bytes(cursor, self._account_id.bytes, self._purpose(kind))
        try:
            [ms] = _TIME.unpack_from(packed)
            at, following = moment(ms), packed[_TIME.size :]
            if kind is Bookmark:
                return Bookmark(at, dict(_DRAIN_POSITION.iter_unpack(following)))
            if self._feed is FeedName.CLICKS:
                return TimePosition(at, UUID(bytes=following))
            return TimePosition(at, *_EVENT_ID.unpack(following))
        except struct.error as error:
            raise ValueError("no such time or id") from error

    def _purpose(self, kind: type[PageStart]) -> str:
        return f"{self._feed[:6]} {_KINDS[kind]}"[:16]


def _packed(start: PageStart) -> bytes:
    time = _TIME.pack(round(start.at.timestamp() * 1000))
    if isinstance(start, Bookmark):
        return time + b"".join(
            _DRAIN_POSITION.pack(*one) for one in sorted(start.positions.items())
        )
    return time + (start.id.bytes if isinstance(start.id, UUID) else _EVENT_ID.pack(start.id))
