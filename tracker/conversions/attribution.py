"""Attribution of an event to its click, which the drain calls when both have arrived. Pure."""

from typing import Final, cast

from tracker.clicks import dimensions, sources
from tracker.clicks.document import ClickDocument
from tracker.conversions.document import EventDocument, EventFields, Status

DIMENSIONS: Final = ("link_id", "domain_name", *dimensions.NAMES, "bot")
"""The fields that an event takes over from its click, besides those of its source."""

CLICK_FIELDS: Final = ("account_id", "at", *DIMENSIONS, *sources.FIELDS)
"""The fields of a click that are read here."""


def attribute(event: EventDocument, click: ClickDocument) -> EventFields:
    """Return the fields to set on a pending `event` whose `click` has arrived."""
    if event["account_id"] not in (None, click["account_id"]):
        return {"status": Status.FOREIGN_CLICK}
    # The names of the dimensions come from their tables.
    taken = {name: click[name] for name in DIMENSIONS}  # type: ignore[literal-required]
    taken |= {name: click[name] for name in sources.FIELDS if name in click}  # type: ignore[literal-required]
    fields = cast(EventFields, taken)
    fields["status"] = Status.ATTRIBUTED
    fields["account_id"] = click["account_id"]
    fields["click_at"] = click["at"]
    if event["transaction_scope"] == event["click_id"] is not None:
        fields["transaction_scope"] = click["account_id"]
    return fields
