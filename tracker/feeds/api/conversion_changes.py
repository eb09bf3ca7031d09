"""The changes of a conversion, as answers show them."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from bson import Decimal128

from tracker.clock import iso
from tracker.conversions.corrections.changes import RESTATED, Change, in_order
from tracker.conversions.corrections.status import Status
from tracker.feeds.api.correction_schema import ChangeActor, ChangedFields, ConversionChange
from tracker.feeds.services import FeedCall


async def shown_changes(
    call: FeedCall[Any, Any], changes: Sequence[Change]
) -> list[ConversionChange]:
    """Return the records of changes in their order, with the values before each."""
    names = await _names(call, {one["actor"] for one in changes})
    before: dict[str, Any] = {}
    shown = []
    for change in in_order(changes):
        stated: dict[str, Any] = {name: change[name] for name in RESTATED if name in change}
        if "payout" not in before and "fixed_payout" in change:
            stated.setdefault("payout", change["fixed_payout"])
        if not before:
            stated.setdefault("reported", Status.APPROVED)
        shown.append(
            ConversionChange(
                at=iso(change["at"]),
                recorded_at=iso(change["recorded_at"]),
                actor=names[change["actor"]],
                reason=change.get("reason"),  # type: ignore[arg-type]
                note=change.get("note"),
                stated=_fields(stated),
                before=_fields({name: before.get(name) for name in stated} if before else {}),
            )
        )
        before |= stated
    return shown


def _fields(stated: Mapping[str, Any]) -> ChangedFields:
    shown: dict[str, Any] = {
        name: value.to_decimal() if isinstance(value, Decimal128) else value
        for name, value in stated.items()
    }
    if "reported" in shown:
        shown["status"] = shown.pop("reported") or "approved"
    return ChangedFields(**shown)


async def _names(call: FeedCall[Any, Any], actors: set[str]) -> dict[str, ChangeActor]:
    """Return the actors, with the names of people and keys. An unknown one has none."""
    ids: dict[str, list[UUID]] = {"person": [], "key": []}
    parsed = {}
    for actor in actors:
        kind, _, text = actor.partition(":")
        parsed[actor] = kind, UUID(text) if text else None
        if text and kind in ids:
            ids[kind].append(UUID(text))
    people = await call.services.accounts.people.find_all(ids["person"]) if ids["person"] else {}
    keys = await call.web.api_keys.find_all(ids["key"]) if ids["key"] else {}
    named = {one: person.label for one, person in people.items()}
    named |= {one: key.name for one, key in keys.items()}
    return {
        actor: ChangeActor(kind=kind, id=one, name=named.get(one) if one else None)  # type: ignore[arg-type]
        for actor, (kind, one) in parsed.items()
    }
