"""Rooms of a process with parts of a test in them."""

from typing import Any

from tracker.service.services import Services


def replace_parts(services: Services, room: str, **parts: Any) -> None:
    """Put parts into a room, for requests and for drains made later."""
    replaced = getattr(services, room)._replace(**parts)
    setattr(services, room, replaced)
    if room in services.ingest._fields:
        services.ingest = services.ingest._replace(**{room: replaced})
