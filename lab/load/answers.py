"""What answers tell of what was recorded. Pure."""

import re
from typing import Final
from uuid import UUID

_CLICK_ID: Final = re.compile(rb"\r\nlocation: \S*[?&]click_id=([0-9a-f-]{36})\r\n", re.IGNORECASE)
_EVENT_ID: Final = re.compile(rb"\r\nx-event-id: (\d+)\r\n", re.IGNORECASE)


def click_id_of(answer: bytes) -> UUID | None:
    """`answer` is a redirect from its status line on; None if it names no click."""
    found = _CLICK_ID.search(answer)
    return UUID(found[1].decode()) if found else None


def event_id_of(answer: bytes) -> int | None:
    """`answer` is one of `/api/event`; None if it names no event."""
    found = _EVENT_ID.search(answer)
    return int(found[1]) if found else None
