"""The file of country names that reports show, from Babel, which would take 5 MB a process.

`python -m tests.country_names` writes it.
"""

from typing import Final

import babel
from babel import Locale

from tracker.visitor_dimensions import COUNTRY_NAMES

_CODE_CHARACTERS: Final = 2
"""Longer codes are those of continents and the like."""


def country_names() -> str:
    """Return the text of the file. Its first line names the origin."""
    names = Locale("en").territories
    codes = sorted(code for code in map(str, names) if len(code) == _CODE_CHARACTERS)
    rows = [f"{code}\t{names[code]}\n" for code in codes]
    return f"# Unicode CLDR, as in Babel {babel.__version__}\n{''.join(rows)}"


if __name__ == "__main__":
    COUNTRY_NAMES.write_text(country_names(), "utf-8")
