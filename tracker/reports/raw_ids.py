"""Arrays of ids in raw documents of MongoDB, decoded by numpy. Pure.

The driver takes 2 µs of Python for each id, and a report by tag may need those of 100,000 links.
"""

from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from tracker.reports.arrays import np

if TYPE_CHECKING:
    import numpy.typing as npt

Ids: TypeAlias = "npt.NDArray[np.uint8]"
"""The bytes of an id in each row."""

_SIZE: Final = 4
_ARRAY: Final = 4
_ID_BYTES: Final = 16

_GROUPS: Final = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
"""The digits between the hyphens of an id's text."""


def id_arrays(document: bytes) -> dict[str, Ids]:
    """Return the fields of a BSON document. Raises ValueError unless each is an array of ids."""
    found = {}
    at = _SIZE
    while document[at]:
        kind, end = document[at], document.index(0, at + 1)
        name, at = document[at + 1 : end].decode(), end + 1
        size = int.from_bytes(document[at : at + _SIZE], "little")
        if kind != _ARRAY:
            raise ValueError(f"{name} is no array")
        found[name] = _ids(document[at : at + size])
        at += size
    return found


def id_texts(ids: Ids) -> list[str]:
    digits = _digits_of_bytes()[ids].reshape(len(ids), 2 * _ID_BYTES)
    lines = np.full((len(ids), 37), ord("-"), np.uint8)
    for number, (first, end) in enumerate(_GROUPS):
        lines[:, first + number : end + number] = digits[:, first:end]
    lines[:, -1] = ord("\n")
    return lines.tobytes().decode().split("\n")[:-1]


@cache
def _digits_of_bytes() -> Ids:
    """Return the two digits of each byte."""
    found: Ids = np.frombuffer(bytes(range(256)).hex().encode(), np.uint8).reshape(256, 2)
    return found


def _ids(array: bytes) -> Ids:
    places = _places(len(array))
    found: Ids = np.frombuffer(array, np.uint8)[places[:, np.newaxis] + np.arange(_ID_BYTES)]
    return found


def _places(size: int) -> "npt.NDArray[np.int64]":
    """Return where each id begins. Its key in the array is its number, which grows by digits."""
    found = [np.zeros(0, np.int64)]
    at, number, digits = _SIZE, 0, 1
    while at < size - 1:
        # A type, the key and its end, a length and a kind stand before the bytes of an id.
        before = 1 + digits + 1 + _SIZE + 1
        count = min(10**digits - number, (size - 1 - at) // (before + _ID_BYTES))
        if not count:
            raise ValueError("the array has other values than ids")
        found.append(at + before + np.arange(count) * (before + _ID_BYTES))
        at, number, digits = at + count * (before + _ID_BYTES), number + count, digits + 1
    return np.concatenate(found)
