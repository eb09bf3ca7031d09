"""Entity tags of what can be changed, and the condition that `If-Match` makes (RFC 9110)."""

import re
from typing import Final, NamedTuple

from tracker.errors import BadRequest, ChangedMeanwhile

_TAG: Final = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS: Final = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*")


def entity_tag(revision: int) -> str:
    return f'"{revision}"'


class Precondition(NamedTuple):
    """The tags of an `If-Match`, of which one has to be the present one; None without it.

    Weak tags have their `W/`, and so match none.
    """

    tags: frozenset[str] | None = None

    @classmethod
    def of(cls, if_match: str | None) -> "Precondition":
        """Read the header. Raises BadRequest if it is none."""
        if if_match is None:
            return cls()
        if if_match.strip() == "*":
            return cls(frozenset("*"))
        if not _TAGS.fullmatch(if_match):
            raise BadRequest('If-Match: must be * or entity tags, such as "1767000000123"')
        return cls(frozenset(re.findall(_TAG, if_match)))

    def check(self, revision: int | None) -> None:
        """Raises ChangedMeanwhile if the object has another revision. None: there is no object."""
        present = set() if revision is None else {"*", entity_tag(revision)}
        if self.tags is not None and self.tags.isdisjoint(present):
            raise ChangedMeanwhile("If-Match: this is not its present version")
