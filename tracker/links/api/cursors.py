"""Cursors of the list of links: where a page begins, as text with a checksum.

A cursor has no secrets, so its key is no secret either. The checksum detects cursors that are cut,
made up, or of another account or order.
"""

import base64
from hashlib import blake2b
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.links.lists.filter import LinkOrder
from tracker.stores.mongodb.order import Position

MAX_CURSOR_CHARACTERS: Final = 2000
"""Longer than a cursor with a name of 255 characters of 4 bytes."""

_CHECK_BYTES: Final = 8


class PageStart(NamedTuple):
    """The number of a page, and the position of the link before it."""

    page: int
    position: Position


def cursor_of(account_id: UUID, order: LinkOrder, start: PageStart) -> str:
    packed = msgspec.msgpack.encode(start)
    return _text(_check(account_id, order, packed) + packed)


def page_start_of(account_id: UUID, order: LinkOrder, cursor: str) -> PageStart:
    """Return the start of a page. Raises BadRequest if `cursor` is not from `cursor_of`."""
    try:
        checked = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        packed = checked[_CHECK_BYTES:]
        if checked[:_CHECK_BYTES] == _check(account_id, order, packed) and _text(checked) == cursor:
            return msgspec.msgpack.decode(packed, type=PageStart)
    except ValueError:
        pass
    raise BadRequest("cursor: must be the next_cursor of a page of the same account and sort")


def _text(packed: bytes) -> str:
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def _check(account_id: UUID, order: LinkOrder, packed: bytes) -> bytes:
    digest = blake2b(packed, digest_size=_CHECK_BYTES, key=account_id.bytes, person=order.encode())
    return digest.digest()
