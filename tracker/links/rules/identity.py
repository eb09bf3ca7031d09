"""Ids of rules and variants that are sent, and secrets of their splits. Pure.

A part without an id keeps the id of the present part with its name, so a program that sends the
same rules each night changes nothing. A split keeps its secret while it keeps a variant, so an edit
moves no visitor.
"""

from collections.abc import Iterable, Mapping, Sequence
from secrets import token_hex
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.links.rules.choices import Choice, ChoiceKind
from tracker.links.rules.rule import Deciding, Rule, Split, Variant

MAX_CHOICES: Final = 2_000
"""The limit of the rules and variants that a link has had, whose names reports need."""

_SECRET_BYTES: Final = 16

_Plain = dict[str, Any]


class Known(NamedTuple):
    """The rules and variants that a link ever had, by id, and its present ones."""

    choices: Mapping[UUID, Choice]
    present: Deciding


NEW_LINK: Final = Known({}, Deciding())


def identified(sent: Mapping[str, Any], known: Known) -> dict[str, Any]:
    """Return `rules` and `split`, of which one may be missing, as they are stored.

    They are sent as in JSON, with UUIDs. Raises BadRequest, with the path, for an id that never was
    the link's.
    """
    ids, found = _Ids(known, sent), dict[str, Any]()
    if "rules" in sent:
        plain = [ids.rule(f"rules[{number}]", one) for number, one in enumerate(sent["rules"])]
        found["rules"] = msgspec.convert(plain, list[Rule])
    if "split" in sent:
        split = sent["split"] and ids.split("split", sent["split"], known.present.split)
        found["split"] = msgspec.convert(split, Split | None)
    if len(known.choices.keys() | ids.used) > MAX_CHOICES:
        raise BadRequest(f"rules: a link may have had {MAX_CHOICES:,} rules and variants in all")
    return found


class _Ids:
    """The ids of one request. `used` has those that are given already."""

    def __init__(self, known: Known, sent: Mapping[str, Any]) -> None:
        self._known = known
        kept = Deciding(
            rules=[] if "rules" in sent else known.present.rules,
            split=None if "split" in sent else known.present.split,
        )
        self.used = {one.id for one in kept.rules} | {one.id for one in variants_of(kept)}
        self._sent = set(_ids_in([*(sent.get("rules") or ()), sent.get("split")]))

    def rule(self, at: str, sent: _Plain) -> _Plain:
        present = self._known.present.rules
        found = {**sent, "id": self._id(at, "rule", sent, present)}
        if "split" in sent:
            before = next((one.split for one in present if one.id == found["id"]), None)
            found["split"] = self.split(f"{at}.split", sent["split"], before)
        return found

    def split(self, at: str, sent: _Plain, before: Split | None) -> _Plain:
        present = () if before is None else before.variants
        variants = [
            {**one, "id": self._id(f"{at}.variants[{number}]", "variant", one, present)}
            for number, one in enumerate(sent["variants"])
        ]
        known = (self._known.choices.get(one["id"]) for one in variants)
        secret = next((one.secret for one in known if one and one.secret), None)
        return {"variants": variants, "secret": secret or token_hex(_SECRET_BYTES)}

    def _id(
        self, at: str, kind: ChoiceKind, sent: _Plain, present: Sequence[Rule | Variant]
    ) -> UUID:
        found: UUID | None = sent.get("id")
        if found is None:
            free = (one for one in present if one.id not in self.used | self._sent)
            found = next((one.id for one in free if one.name == sent["name"]), None) or new_id()
        else:
            choice = self._known.choices.get(found)
            if choice is None or choice.kind != kind:
                raise BadRequest(f"{at}.id: no {kind} of this link has or had it")
            if found in self.used:
                raise BadRequest(f"{at}.id: repeated")
        self.used.add(found)
        return found


def variants_of(deciding: Deciding) -> list[Variant]:
    return [one for _, split in deciding.splits() for one in split.variants]


def _ids_in(parts: Iterable[_Plain | None]) -> Iterable[UUID]:
    for part in parts:
        if part is not None:
            if "id" in part:
                yield part["id"]
            yield from _ids_in([part.get("split"), *part.get("variants", ())])
