"""The choice between two media types by an Accept header (RFC 9110, section 12.5.1). Pure.

Called where an answer has two forms: a page or JSON, an image or JSON.

Guarantee: the work is bounded by `MAX_CHARACTERS`, whatever a client sends.
"""

import re
from functools import lru_cache
from typing import Final

MAX_CHARACTERS: Final = 1000
"""Characters of a header; a longer one is ignored."""

_MAX_REMEMBERED_HEADERS: Final = 1024
_WEIGHT: Final = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def prefers(accept: str, wanted: str, other: str) -> bool:
    """Return whether `accept` gives the media type `wanted` a strictly higher quality than `other`.

    Both are lower case and without parameters, such as "text/html". A missing header is "". The
    most specific range decides for each type. Malformed ranges are ignored, and so are ranges with
    parameters, which mean other forms of a type.
    """
    return 0 < len(accept) <= MAX_CHARACTERS and _prefers(accept, wanted, other)


@lru_cache(maxsize=_MAX_REMEMBERED_HEADERS)
def _prefers(accept: str, wanted: str, other: str) -> bool:
    """Compare the two qualities; cached, because clients send few different headers."""
    wanted_ranges, other_ranges = _ranges(wanted), _ranges(other)
    qualities = _qualities(accept, {*wanted_ranges, *other_ranges})
    return _quality(qualities, wanted_ranges) > _quality(qualities, other_ranges)


def _ranges(media_type: str) -> tuple[str, str, str]:
    """Return the ranges that cover a media type, the most specific first."""
    return media_type, media_type.partition("/")[0] + "/*", "*/*"


def _qualities(accept: str, ranges: set[str]) -> dict[str, float]:
    """Return the quality of each of `ranges` in `accept`; the highest if a range is repeated."""
    qualities: dict[str, float] = {}
    for element in accept.lower().split(","):
        media_range, _, parameters = element.partition(";")
        media_range = media_range.strip(" \t")
        weight = _weight(parameters) if media_range in ranges else None
        if weight is not None:
            qualities[media_range] = max(weight, qualities.get(media_range, 0.0))
    return qualities


def _weight(parameters: str) -> float | None:
    """Return the weight in `parameters`: 1 if there are none, None if they are anything else."""
    present = [parameter for part in parameters.split(";") if (parameter := part.strip(" \t"))]
    if not present:
        return 1.0
    match = _WEIGHT.fullmatch(present[0]) if len(present) == 1 else None
    return float(match[1]) if match else None


def _quality(qualities: dict[str, float], ranges: tuple[str, str, str]) -> float:
    """Return the quality of the first of `ranges` that has one, 0 if none has."""
    return next((qualities[one] for one in ranges if one in qualities), 0.0)
