"""The check of macros, which are names in braces. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from tracker.errors import BadRequest

CASES: Final[Mapping[str, Callable[[str], str]]] = {"lower": str.lower, "upper": str.upper}

_MAX_NAMED: Final = 10
_MAX_NAME_CHARACTERS: Final = 64
_SIMILARITY: Final = 0.75
"""`clickid` and `clik_id` are taken for `click_id`, `cid` is not."""


def check_known(
    field: str,
    used: Iterable[str],
    is_known: Callable[[str], bool],
    known: Collection[str],
    advice: str = "",
) -> None:
    """Raises BadRequest with the unknown names in `used`, the known ones, and `advice`."""
    if unknown := sorted({name for name in used if not is_known(name)})[:_MAX_NAMED]:
        named = " ".join(_with_nearest(name[:_MAX_NAME_CHARACTERS], known) for name in unknown)
        listed = " ".join(f"{{{name}}}" for name in known)
        raise BadRequest(f"{field}: unknown macro {named}; known: {listed}{advice}")


def _with_nearest(name: str, known: Collection[str]) -> str:
    by_plain = {_plain(one): one for one in known}
    base = _plain(name.partition("|")[0])
    nearest = [by_plain[one] for one in get_close_matches(base, by_plain, 1, _SIMILARITY)]
    return f"{{{name}}}" + "".join(f" (did you mean {{{one}}}?)" for one in nearest)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()
