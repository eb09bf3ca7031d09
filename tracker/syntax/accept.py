"""What a client accepts: one of two media types, or gzip (RFC 9110, section 12.5). Pure."""

import re
from functools import lru_cache
from typing import Final

MAX_CHARACTERS: Final = 1000
"""A longer header is ignored, so that the work is bounded."""

_MAX_CACHED_HEADERS: Final = 1024
_ZERO_WEIGHTS: Final = ("q=0", "q=0.0", "q=0.00", "q=0.000")
_WEIGHT: Final = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def prefers(accept: str, wanted: str, other: str) -> bool:
    """Return whether `accept` gives `wanted` a strictly higher quality than `other`.

    Both are lower case. The most specific valid range decides; one with parameters is ignored.
    """
    return 0 < len(accept) <= MAX_CHARACTERS and _prefers(accept, wanted, other)


@lru_cache(maxsize=_MAX_CACHED_HEADERS)
def _prefers(accept: str, wanted: str, other: str) -> bool:
    qualities = _qualities(accept)
    return _quality(qualities, wanted) > _quality(qualities, other)


def _qualities(accept: str) -> dict[str, float]:
    qualities: dict[str, float] = {}
    for element in accept.lower().split(","):
        media_range, _, parameters = element.partition(";")
        media_range = media_range.strip(" \t")
        weight = _weight(parameters)
        if weight is not None:
            qualities[media_range] = max(weight, qualities.get(media_range, 0.0))
    return qualities


def _weight(parameters: str) -> float | None:
    present = [parameter for part in parameters.split(";") if (parameter := part.strip(" \t"))]
    if not present:
        return 1.0
    match = _WEIGHT.fullmatch(present[0]) if len(present) == 1 else None
    return float(match[1]) if match else None


def _quality(qualities: dict[str, float], media_type: str) -> float:
    ranges = (media_type, media_type.partition("/")[0] + "/*", "*/*")
    return next((qualities[one] for one in ranges if one in qualities), 0.0)


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an Accept-Encoding header names gzip with a weight above zero."""
    for part in accept_encoding.lower().split(","):
        coding, _, weight = part.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in _ZERO_WEIGHTS
    return False
