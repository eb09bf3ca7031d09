"""Pages of an API, and the records in them. Pure."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from tracker.errors import BadRequest
from tracker.imports.source import SourceApi

Parameters = Mapping[str, str | int]
Following = Callable[[Parameters, Any, list[Any]], Parameters | None]
"""Gets the parameters of a page, its answer and its records. Returns the parameters to change for
the next page; None after the last."""


async def pages(
    api: SourceApi, path: str, parameters: Parameters, keys: str, following: Following
) -> AsyncIterator[list[Any]]:
    """Yield the records of each page; they are below `keys` in the answer."""
    change: Parameters | None = {}
    while change is not None:
        parameters = {**parameters, **change}
        answer = await api.get(path, parameters)
        records = listed(path, answer, keys)
        yield records
        change = following(parameters, answer, records) if records else None


def listed(path: str, answer: Any, keys: str) -> list[Any]:
    """Return a list, which some services write as an object. Raises BadRequest if it is not there.

    `keys` leads to it, as in `a.b`; empty: the answer is the list.
    """
    for key in filter(None, keys.split(".")):
        answer = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(answer, list | dict):
        raise BadRequest(f"api: {path} answered without {keys or 'a list'}")
    return list(answer.values()) if isinstance(answer, dict) else answer


def offset(name: str, size: int) -> Following:
    """For pages that are told by the number of records before them."""

    def following(parameters: Parameters, _: Any, records: list[Any]) -> Parameters | None:
        return {name: int(parameters[name]) + size} if len(records) >= size else None

    return following
