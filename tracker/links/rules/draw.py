"""The draw of a variant, the same for a visitor each time. Pure.

Weighted rendezvous hashing: every variant gets a number from a keyed hash of the visitor, and the
best one for its weight wins. So a changed weight moves only the visitors of the changed share.
Sources: D. Thaler and C. Ravishankar, "Using name-based mappings to increase hit rates" (1998); the
logarithm: C. Schindelhauer and G. Schomaker, "Weighted distributed hash tables" (2005).
"""

from collections.abc import Sequence
from hashlib import blake2b
from math import log
from typing import Final

from tracker.limits.network import network_of
from tracker.links.rules.rule import Split, Variant

_HASH_BYTES: Final = 8
_RANGE: Final = 1 << 8 * _HASH_BYTES


class Draw:
    """The draw of a split. Without an active weight nobody draws."""

    def __init__(self, split: Split) -> None:
        key = bytes.fromhex(split.secret)
        # With the variant's id hashed already, a visitor costs one copy for each.
        self._active = [
            (blake2b(one.id.bytes, digest_size=_HASH_BYTES, key=key), -one.weight, one)
            for one in split.variants
            if one.active and one.weight
        ]

    def variant(self, address: str, user_agent: str) -> Variant | None:
        """Return the visitor's variant. A visitor is an address and user agent; IPv6 is a /64."""
        visitor = f"{network_of(address)}\0{user_agent}".encode(errors="replace")
        best, found = float("inf"), None
        for hashed, negative_weight, one in self._active:
            own = hashed.copy()
            own.update(visitor)
            drawn = (int.from_bytes(own.digest()) + 1) / (_RANGE + 1)
            distance = log(drawn) / negative_weight
            if distance < best:
                best, found = distance, one
        return found


def first_active(variants: Sequence[Variant]) -> Variant | None:
    return next((one for one in variants if one.active), None)
