"""Reading of samples and of APIs that are tables, as tests of sources do."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tracker.imports.item import SourceItem
from tracker.imports.source import FileFormat
from tracker.imports.sources import SOURCES
from tracker.links.api.rules.schema import RuleInput, SplitInput

SAMPLES = Path(__file__).with_name("samples")
HEAD_BYTES = 64 * 1024
SIZES = (1, 7, 1_000_000)
"""Of the pieces in which each sample is read."""

Result = TypeVar("Result")


async def pieces_of(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def collected(items: AsyncIterator[Result]) -> list[Result]:
    return [item async for item in items]


def run_alone(work: Coroutine[Any, Any, Result]) -> Result:
    """Run `work` on a loop of its own; `asyncio.run` would leave other tests without theirs."""
    with closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(work)


def format_of(source: str, data: bytes) -> FileFormat:
    return next(one for one in SOURCES[source].files if one.fits(data[:HEAD_BYTES]))


def read(source: str, data: bytes) -> list[SourceItem]:
    """Return the items of a file, which are the same wherever it is cut."""
    read_pieces = format_of(source, data).read
    first, *others = (
        run_alone(collected(read_pieces(pieces_of(data, size), {}))) for size in SIZES
    )
    assert all(items == first for items in others)
    return first


def read_sample(name: str) -> list[SourceItem]:
    source = name.partition(".")[0].partition("-")[0]
    return read(source, (SAMPLES / name).read_bytes())


class TableApi:
    """An API whose answers a function gives. It keeps what was asked for."""

    def __init__(self, answer: Callable[[str, Mapping[str, Any]], Any]) -> None:
        self._answer = answer
        self.requests: list[tuple[str, Mapping[str, Any]]] = []

    async def get(self, path: str, parameters: Mapping[str, str | int]) -> Any:
        self.requests.append((path, parameters))
        return self._answer(path, parameters)


def read_api(source: str, api: TableApi) -> list[SourceItem]:
    reader = SOURCES[source].read_api
    assert reader is not None
    return run_alone(collected(reader(api.get)))


def rule(name: str, url: str, **condition: Any) -> RuleInput:
    """Return a rule of one condition."""
    sent = {"name": name, "conditions": [condition], "destination_url": url}
    return msgspec.convert(sent, RuleInput)


def split(*shares: tuple[str, int]) -> SplitInput:
    """Return a split by URLs and weights, whose variants are A, B and so on."""
    variants = [
        {"name": chr(ord("A") + number), "destination_url": url, "weight": weight}
        for number, (url, weight) in enumerate(shares)
    ]
    return msgspec.convert({"variants": variants}, SplitInput)
