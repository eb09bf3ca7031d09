"""A source: a service whose links can be imported, and how its files and its API are read."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from tracker.imports.item import SourceItem

Items = AsyncIterator[SourceItem]


class SourceApi(Protocol):
    """GET requests to a source's API, within its limits and at public addresses only."""

    async def get(self, path: str, parameters: Mapping[str, str | int] = {}) -> Any:
        """Return the JSON of `path` below the address of the API.

        Waits after a 429 or 503 as told. Raises BadRequest, naming address, status and rule, if the
        source refuses the key or answers no JSON.
        """


class FileFormat(NamedTuple):
    """A kind of file. `fits` gets its first 64 KiB; `read` gets the file in pieces."""

    name: str
    fits: Callable[[bytes], bool]
    read: Callable[[AsyncIterator[bytes]], Items]


class Source(NamedTuple):
    """A row of the table of sources (`imports/sources`).

    `key_headers` makes the request headers from the key that the user gives. `read_api` is None for
    a source without an API.
    """

    name: str
    label: str
    files: tuple[FileFormat, ...]
    key_headers: Callable[[str], Mapping[str, str]]
    read_api: Callable[[SourceApi], Items] | None
