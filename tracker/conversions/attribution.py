"""Joining a stored event to its stored click. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from tracker.clicks import dimensions


class Status(StrEnum):
    """What is known of the click of a stored event."""

    CLAIMED = "claimed"
    """Stored early, with Redis away, so that its transaction id is taken; it counts when its
    journal entry arrives."""
    PENDING = "pending"
    """It names a click that has not arrived."""
    ATTRIBUTED = "attributed"
    """It carries what its click tells."""
    NO_CLICK = "no_click"
    """It names none."""
    FOREIGN_CLICK = "foreign_click"
    """Its click belongs to another account than its event config."""
    DUPLICATE = "duplicate"
    """Its transaction id had come before on the account, as its click has shown."""
    REFUSED = "refused"
    """It breaks a rule of its account, named by `refused`; found after it was answered."""


COUNTED: Final = (Status.PENDING, Status.NO_CLICK, Status.FOREIGN_CLICK, Status.ATTRIBUTED)
"""States of an event in which it counts, if its account is known."""


DIMENSIONS = ("link_id", "domain_name", *dimensions.NAMES, "bot")
"""What an event takes over from its click."""


def attribute(event: Mapping[str, Any], click: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to set on a pending `event` whose `click` is there."""
    if event["account_id"] not in (None, click["account_id"]):
        return {"status": Status.FOREIGN_CLICK}
    fields = {name: click[name] for name in DIMENSIONS}
    fields |= {
        "status": Status.ATTRIBUTED,
        "account_id": click["account_id"],
        "click_at": click["at"],
    }
    if event["transaction_scope"] == event["click_id"] is not None:
        fields["transaction_scope"] = click["account_id"]
    return fields
