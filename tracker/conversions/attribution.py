"""Attribution of a stored event to its stored click. Pure.

The drain asks here when both are there; reports ask which events count.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from tracker.clicks import dimensions


class Status(StrEnum):
    """The state of a stored event, mostly by what is known of its click."""

    CLAIMED = "claimed"
    """It was stored early, while Redis was unavailable, so that its transaction id is taken. It
    counts when its journal entry arrives."""
    PENDING = "pending"
    """It names a click that has not arrived."""
    ATTRIBUTED = "attributed"
    """It carries the dimensions of its click."""
    NO_CLICK = "no_click"
    """It names no click."""
    FOREIGN_CLICK = "foreign_click"
    """Its click belongs to another account than its event configuration."""
    DUPLICATE = "duplicate"
    """Its transaction id came before on the account, which its click has revealed."""
    REFUSED = "refused"
    """It breaks a rule of its account, named by `refused`; found after it was answered."""


COUNTED: Final = (Status.PENDING, Status.NO_CLICK, Status.FOREIGN_CLICK, Status.ATTRIBUTED)
"""The states in which an event counts, if its account is known."""


DIMENSIONS: Final = ("link_id", "domain_name", *dimensions.NAMES, "bot")
"""The fields that an event takes over from its click."""


def attribute(event: Mapping[str, Any], click: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to set on a pending `event` whose `click` is there."""
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
