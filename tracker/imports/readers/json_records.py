"""Records of JSON: of files, one after another, and of the pages of APIs. Pure."""

import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from tracker.errors import BadRequest
from tracker.imports.readers.fields import Read, items_of
from tracker.imports.source import FileFormat, Get, Items, Parameters
from tracker.syntax.text_pieces import BrokenFile, batches, head_text

Following = Callable[[Parameters, Any, list[Any]], Parameters | None]
"""Gets the parameters of a page, its answer and its records. Returns the parameters to change for
the next page; None after the last."""

_TO_ARRAY: Final = re.compile(r'(?:[^\["]|"(?:[^"\\]|\\.)*+")*+\[', re.DOTALL)
_BETWEEN: Final = re.compile(r"[\s,]*+")
# Some services write control characters into texts.
_DECODER: Final = json.JSONDecoder(strict=False)


def json_format(read: Read, *names: str) -> FileFormat:
    """Return a format of JSON: objects with `names`, in the first array of the file."""

    def fits(head: bytes) -> bool:
        text = head_text(head).lstrip()
        return text[:1] in ("{", "[") and all(f'"{name}"' in text for name in names)

    return FileFormat("JSON", fits, lambda pieces, _: items_of(batches(pieces, _Records()), read))


class _Records:
    _is_inside = _is_over = False

    def __call__(self, text: str, at: int, _: bool) -> tuple[int, list[Any]] | None:
        if not self._is_inside:
            array = _TO_ARRAY.match(text, at)
            self._is_inside = array is not None
            return (array.end(), []) if array else None
        start = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        self._is_over = self._is_over or text[start : start + 1] == "]"
        if self._is_over or start == len(text):
            return (len(text), []) if at < len(text) else None
        if text[start] != "{":
            raise BrokenFile("file: a record is no JSON object")
        try:
            record, end = _DECODER.raw_decode(text, start)
        except ValueError:
            return None
        except RecursionError:
            raise BrokenFile("file: a record is nested too deep") from None
        return end, [record]


async def pages(
    get: Get, path: str, parameters: Parameters, keys: str, following: Following
) -> AsyncIterator[list[Any]]:
    """Yield the records of each page; they are below `keys` in the answer."""
    change: Parameters | None = {}
    while change is not None:
        parameters = {**parameters, **change}
        answer = await get(path, parameters)
        records = listed(path, answer, keys)
        yield records
        change = following(parameters, answer, records) if records else None


def api_reader(
    read: Read, path: str, parameters: Parameters, keys: str, following: Following
) -> Callable[[Get], Items]:
    return lambda get: items_of(pages(get, path, parameters, keys, following), read)


def listed(path: str, answer: Any, keys: str) -> list[Any]:
    """Return the list at `keys`, as `a.b`; some services write an object for it.

    Raises BadRequest if it is not there.
    """
    for key in keys.split("."):
        answer = (answer.get(key) if isinstance(answer, dict) else None) if key else answer
    if not isinstance(answer, list | dict):
        raise BadRequest(f"api: {path} answered without {keys or 'a list'}")
    return list(answer.values()) if isinstance(answer, dict) else answer


def offset(name: str, size: int) -> Following:
    """For pages that are told by the number of records before them."""
    return lambda sent, _, records: {name: int(sent[name]) + size} if len(records) >= size else None
