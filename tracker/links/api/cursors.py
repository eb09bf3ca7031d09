"""Cursors of the list of links: where a page begins, for one account and order."""

from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.links.lists.filter import LinkOrder
from tracker.stores.mongodb.order import Position
from tracker.syntax.checked_text import checked_bytes, checked_text

MAX_CURSOR_CHARACTERS: Final = 2000
"""Longer than a cursor with a name of 255 characters of 4 bytes."""


class PageStart(NamedTuple):
    """The number of a page, and the position of the link before it."""

    page: int
    position: Position


def cursor_of(account_id: UUID, order: LinkOrder, start: PageStart) -> str:
    return checked_text(msgspec.msgpack.encode(start), account_id.bytes, order)


def page_start_of(account_id: UUID, order: LinkOrder, cursor: str) -> PageStart:
    """Return the start of a page. Raises BadRequest if `cursor` is not from `cursor_of`."""
    try:
        packed = checked_bytes(cursor, account_id.bytes, order)
        return msgspec.msgpack.decode(packed, type=PageStart)
    except ValueError:
        rule = "must be the next_cursor of a page of the same account and sort"
        raise BadRequest(f"cursor: {rule}") from None
