"""A source: a service whose links can be imported, and how its files and its API are read."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tracker.imports.item import SourceItem

Items = AsyncIterator[SourceItem]
Pieces = AsyncIterator[bytes]

Columns = Mapping[str, int]
"""The column, from 0, of each field of SourceLink that a CSV has; `source_url` for a whole URL."""


Parameters = Mapping[str, str | int]
Get = Callable[[str, Parameters], Awaitable[Any]]
"""Returns the JSON of a path below the address of a source's API. Waits after a 429 or 503 as told.

Raises BadRequest, naming address, status and rule, if there is none.
"""


class Preview(NamedTuple):
    """The beginning of a CSV: its headings, if it has any, the guessed columns, and 20 rows."""

    headings: Sequence[str]
    columns: Columns
    rows: Sequence[Sequence[str]]


class FileFormat(NamedTuple):
    """A kind of file. `fits` and `preview` get its first 64 KiB; `read` gets it in pieces.

    Formats with a `preview` are read by the columns that the user chose, or else by guessed ones.
    """

    name: str
    fits: Callable[[bytes], bool]
    read: Callable[[Pieces, Columns], Items]
    preview: Callable[[bytes], Preview] | None = None


class Source(NamedTuple):
    """A row of the table of sources (`imports/sources`).

    `key_headers` makes the request headers from the key that the user gives, `key_parameters` the
    parameters of a source that takes it there. `read_api` is None for a source without an API.
    `api_address` is where the API of a hosted service is; empty if each has its own.
    """

    name: str
    label: str
    files: tuple[FileFormat, ...]
    read_api: Callable[[Get], Items] | None = None
    key_headers: Callable[[str], Mapping[str, str]] = lambda _: {}
    key_parameters: Callable[[str], Mapping[str, str]] = lambda _: {}
    api_address: str = ""
