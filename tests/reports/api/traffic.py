"""Clicks and events of a few days."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from tests.factories import (
    Document,
    make_click_document,
    make_event_document,
)

AT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


DAYS = {"from": "2026-01-30", "to": "2026-01-31"}


def click(account_id: UUID, link_id: UUID, **fields: Any) -> Document:
    return make_click_document(
        account_id=account_id, link_id=link_id, at=AT, **({"unique": False} | fields)
    )


def event(number: int, of: Document, **fields: Any) -> Document:
    """Return a conversion of the click `of`, or without a click if `of` has only the account."""
    taken_over = {name: value for name, value in of.items() if name not in ("_id", "at", "unique")}
    if "_id" in of:
        taken_over |= {"click_id": of["_id"], "status": "attributed"}
    return make_event_document(number, at=AT + timedelta(minutes=30), **(taken_over | fields))
