"""Ids of rules and variants that are sent, and secrets of their splits. Pure.

A part without an id keeps the id of the present part with its name, so a program that sends the
same rules each night changes nothing. A split keeps its secret while it keeps a variant, so an edit
moves no visitor.
"""

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.links.rules.choices import Choice
from tracker.links.rules.rule import Deciding, Rule, Split, Variant

MAX_CHOICES: Final = 2_000
"""The limit of the rules and variants that a link has had, whose names reports need."""

_SECRET_BYTES: Final = 16

_Sent = dict[str, Any]


class Known(NamedTuple):
    """The rules and variants that a link ever had, by id, and its present ones."""

    choices: Mapping[UUID, Choice]
    present: Deciding


NEW_LINK: Final = Known({}, Deciding())


def identified(sent: _Sent, known: Known) -> dict[str, Any]:
    """Return `rules` and `split`, or the one that is sent, as they are stored.

    They are sent as in JSON, with UUIDs. Raises BadRequest, with the path, for an id that never was
    the link's.
    """
    ids = _Ids(sent, known)
    found: dict[str, Any] = {}
    if "rules" in sent:
        rules = [ids.rule(f"rules[{number}]", one) for number, one in enumerate(sent["rules"])]
        found["rules"] = msgspec.convert(rules, list[Rule])
    if "split" in sent:
        split = sent["split"] and ids.split("split", sent["split"], known.present.split)
        found["split"] = msgspec.convert(split, Split | None)
    if len(known.choices.keys() | ids.used) > MAX_CHOICES:
        raise BadRequest(f"rules: a link may have had {MAX_CHOICES:,} rules and variants in all")
    return found


class _Ids:
    """The ids of a request. `used` are given, or of what stays; no other part may get them."""

    def __init__(self, sent: _Sent, known: Known) -> None:
        self._known = known
        stays = msgspec.to_builtins(known.present, builtin_types=(UUID,))
        self.used = set(_ids_in([one for name, one in stays.items() if name not in sent]))
        self._asked = set(_ids_in(list(sent.values())))

    def rule(self, at: str, sent: _Sent) -> _Sent:
        present = self._known.present.rules
        found = {**sent, "id": self._id(at, "rule", sent, present)}
        if "split" in sent:
            before = next((one.split for one in present if one.id == found["id"]), None)
            found["split"] = self.split(f"{at}.split", sent["split"], before)
        return found

    def split(self, at: str, sent: _Sent, before: Split | None) -> _Sent:
        present = [] if before is None else before.variants
        variants = [
            {**one, "id": self._id(f"{at}.variants[{number}]", "variant", one, present)}
            for number, one in enumerate(sent["variants"])
        ]
        known = [self._known.choices.get(one["id"]) for one in variants]
        secret = next((one.secret for one in known if one), None)
        return {"variants": variants, "secret": secret or token_hex(_SECRET_BYTES)}

    def _id(self, at: str, kind: str, sent: _Sent, present: Sequence[Rule | Variant]) -> UUID:
        found: UUID | None = sent.get("id")
        if found is None:
            named = [one.id for one in present if one.name == sent["name"]]
            free = (one for one in named if one not in self.used and one not in self._asked)
            found = next(free, None) or new_id()
        elif found not in self._known.choices or self._known.choices[found].kind != kind:
            raise BadRequest(f"{at}.id: no {kind} of this link has or had it")
        elif found in self.used:
            raise BadRequest(f"{at}.id: repeated")
        self.used.add(found)
        return found


def _ids_in(part: Any) -> list[UUID]:
    """Return the ids in JSON, at any depth."""
    if isinstance(part, dict):
        part = part.values()
    elif not isinstance(part, list):
        return [part] if isinstance(part, UUID) else []
    return [found for one in part for found in _ids_in(one)]
