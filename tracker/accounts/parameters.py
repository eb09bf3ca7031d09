"""The sender's own parameters: names of query parameters that an account counts clicks by. Pure.

Each name has a position, and so a field of stored clicks (`OwnParameterFields`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from tracker.clicks.document import OWN_PARAMETERS
from tracker.clicks.enrich import AD_IDS
from tracker.errors import BadRequest
from tracker.links.options import CLICK_ID, check_parameter

FIELD: Final = "parameters"


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    """A position's name. A removed one is remembered, for the day when it is named again."""

    name: str
    removed: bool = False


Positions = tuple[Position, ...]


def names_of(positions: Sequence[Position]) -> list[str]:
    return [one.name for one in positions if not one.removed]


def fields_of(positions: Sequence[Position]) -> dict[str, str]:
    named = zip(positions, OWN_PARAMETERS, strict=False)
    return {one.name: field for one, field in named if not one.removed}


def field_in(fields: Mapping[str, str], name: str, where: str) -> str:
    """Return the field of a name. Raises BadRequest, which says `where` it is, if it has none."""
    if name not in fields:
        raise BadRequest(f"{where}: the account has no parameter {name:.64}")
    return fields[name]


def positions_in(row: Mapping[str, Any]) -> Positions:
    """Return the positions in an account's document."""
    return tuple(Position(**one) for one in row.get(FIELD, ()))


def placed(positions: Sequence[Position], names: Sequence[str]) -> Positions:
    """Return the positions with just these names, of which `checked_names` has taken care.

    A name keeps its position. A new one takes the position that it had, else one that no name has
    had, else the first that a name has left.
    """
    found = [Position(one.name, one.name not in names) for one in positions]
    for name in names:
        if any(one.name == name for one in found):
            continue
        if len(found) < len(OWN_PARAMETERS):
            found.append(Position(name))
        else:
            free = next(number for number, one in enumerate(found) if one.removed)
            found[free] = Position(name)
    return tuple(found)


def checked_names(names: Sequence[str]) -> Sequence[str]:
    """Return the names. Raises BadRequest if one cannot be an account's own parameter."""
    for number, name in enumerate(names):
        check_parameter(f"{FIELD}[{number}]", name)
        if name in (CLICK_ID, *AD_IDS) or name.startswith("utm_"):
            raise BadRequest(f"{FIELD}[{number}]: {name} has a meaning of its own")
        if name in names[:number]:
            raise BadRequest(f"{FIELD}[{number}]: {name} is named already")
    return names
