"""Records of JSON: the objects in the first array of a file, one after another. Pure."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final

from tracker.imports.readers.text import BrokenFile, batches, texts_of

_TO_ARRAY: Final = re.compile(r'(?:[^\["]|"(?:[^"\\]|\\.)*+")*+\[', re.DOTALL)
_BETWEEN: Final = re.compile(r"[\s,]*+")
# Some services write control characters into texts.
_DECODER: Final = json.JSONDecoder(strict=False)


class _Records:
    _is_inside = _is_over = False

    def __call__(self, text: str, at: int, is_last: bool) -> tuple[int, list[Any]] | None:
        if self._is_over:
            return (len(text), []) if at < len(text) else None
        if not self._is_inside:
            array = _TO_ARRAY.match(text, at)
            self._is_inside = array is not None
            return (array.end(), []) if array else None
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        if text[at : at + 1] == "]":
            self._is_over = True
            return at + 1, []
        if text[at : at + 1] not in ("{", ""):
            raise BrokenFile("file: a record that is no JSON object")
        try:
            record, end = _DECODER.raw_decode(text, at)
        except ValueError:
            return None
        except RecursionError:
            raise BrokenFile("file: a record that is nested too deep") from None
        return end, [record]


def json_batches(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[Any]]:
    return batches(texts_of(pieces), _Records())
