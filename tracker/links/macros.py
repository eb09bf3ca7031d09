"""The macros of destinations: every `{name}` that a click replaces. Pure."""

import re
from typing import Final

from tracker.syntax.macros import check_known
from tracker.visitor_dimensions import DIMENSIONS

MACROS: Final[tuple[tuple[str, str], ...]] = (
    ("click_id", "id of the click, a UUID; empty where no click is recorded"),
    ("click_timestamp", "time of the click, ISO 8601 UTC"),
    ("slug", "slug of the short link"),
    ("link_id", "id of the short link, a UUID"),
    ("account_id", "id of the account that owns the short link, a UUID"),
    ("domain_name", "domain the short link belongs to"),
    *((dimension.name, dimension.macro) for dimension in DIMENSIONS),
)

MACRO_NAMES: Final = tuple(name for name, _ in MACROS)

# Braces in destinations are often JSON, GraphQL or patterns. Only a name is a macro: letters,
# digits and `_`, `.`, `-`, `|`. It begins with a letter or `_`.
_MACRO_LIKE: Final = re.compile(r"\{([^\W\d][\w.|-]*)\}")


def check_macros(field: str, url: str) -> None:
    """Raises BadRequest, naming `field` and the macro, if `url` has an unknown macro."""
    advice = "; write %7B for a brace that begins no macro"
    used = _MACRO_LIKE.findall(url)
    check_known(field, used, MACRO_NAMES.__contains__, MACRO_NAMES, advice)
