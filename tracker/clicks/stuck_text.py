"""Text that is stuck to the slug in a path. Pure.

Punctuation sticks to links in texts, and "&utm_source=x" to links without a query.
"""

import re
from typing import Final
from urllib.parse import unquote

from tracker.ids import SLUG

_QUERY_IN_PATH: Final = re.compile("[?&]|%3F|%26", re.IGNORECASE)
_SLUG_BEFORE_TEXT: Final = re.compile(rf"{SLUG.pattern}(?=[^A-Za-z0-9_-])")


def without_stuck_text(path: str, query: str) -> tuple[str, str] | None:
    """Return the slug that `path` begins with, and the query; None if no text is stuck to one."""
    before, *after = _QUERY_IN_PATH.split(path, maxsplit=1)
    found = _SLUG_BEFORE_TEXT.match(unquote(before) + "?" * len(after))
    return None if found is None else (found[0], "&".join(filter(None, (*after, query))))
