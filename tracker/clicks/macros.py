"""The macros of destinations: every `{name}` that a click replaces in a path, query or fragment.

`clicks/redirect` fills them in, `links/destination` finds them in URLs, and the API documents them.
Pure.
"""

from typing import Final

from tracker.clicks.dimensions import DIMENSIONS

MACROS: Final[tuple[tuple[str, str], ...]] = (
    ("click_id", "id of the click, a UUID; empty where no click is recorded"),
    ("click_timestamp", "time of the click, ISO 8601 UTC"),
    ("slug", "slug of the short link"),
    ("link_id", "id of the short link, a UUID"),
    ("account_id", "id of the account that owns the short link, a UUID"),
    ("domain_name", "domain the short link belongs to"),
    *((dimension.name, dimension.macro) for dimension in DIMENSIONS),
)
"""The name and the meaning of each macro."""

MACRO_NAMES: Final = tuple(name for name, _ in MACROS)
