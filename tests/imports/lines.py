"""A source whose files and API have the items themselves, and requests for imports from it."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from tests.web.client import Response
from tracker.imports.item import SourceItem, SourceLink
from tracker.imports.reading import as_line, read_lines
from tracker.imports.source import Columns, FileFormat, Get, Pieces, Preview, Source
from tracker.imports.store import Import
from tracker.service.services import Services

if TYPE_CHECKING:
    from tests.web.world import World

PATH = "/api/imports"


async def _read_api(get: Get) -> AsyncIterator[SourceItem]:
    for one in (await get("links", {"page": 1}))["links"]:
        yield a_link(one["id"], **{k: v for k, v in one.items() if k != "id"})


def _preview(_: bytes) -> Preview:
    return Preview(["a"], {"path": 0}, [["b"]])


def _read(pieces: Pieces, _: Columns) -> AsyncIterator[SourceItem]:
    return read_lines(pieces)


LINES = Source(
    name="lines",
    label="Lines",
    files=(
        FileFormat("lines", lambda text: text.startswith(b"{"), _read),
        FileFormat("columns", lambda text: False, _read, _preview),
    ),
    key_headers=lambda key: {"X-Api-Key": key},
    read_api=_read_api,
)


def add_lines(services: Services) -> None:
    cast(dict[str, Source], services.imports.sources)["lines"] = LINES


def a_link(name: str, **fields: Any) -> SourceLink:
    given: dict[str, Any] = {
        "id": name,
        "row": 1,
        "domain_name": None,
        "path": name,
        "destination_url": f"https://example.com/{name}",
        **fields,
    }
    return SourceLink(**given)


def file_of(*items: SourceItem) -> bytes:
    return b"".join(map(as_line, items))


A_FILE = file_of(a_link("a"))


async def created(world: "World", **fields: Any) -> str:
    """Create an import of lines; return its path."""
    add_lines(world.services)
    sent = {"accountId": str(world.account.id), "source": "lines", **fields}
    answer = await world.api.post(PATH, **sent)
    assert answer.status == 200, answer.body
    return f"{PATH}/{answer.json()['id']}"


async def uploaded(world: "World", *items: SourceItem, **fields: Any) -> str:
    path = await created(world, **fields)
    answer = await world.api.send("POST", f"{path}/file", file_of(*items))
    assert answer.status == 200, answer.body
    return path


async def act(world: "World", path: str, action: str) -> Response:
    if action == "check":
        return await world.api.post(f"{path}/check", accountId=str(world.account.id))
    return await world.api.send("POST", f"{path}/{action}")


async def done(world: "World", path: str, *actions: str) -> dict[str, Any]:
    """Take actions, each of which is worked on to its end; return the import at last."""
    for action in actions:
        answer = await act(world, path, action)
        assert answer.status == 200, answer.body
        await work(world.services)
    shown: dict[str, Any] = (await world.api.get(path)).json()
    return shown


async def imported(world: "World", *items: SourceItem, **fields: Any) -> dict[str, Any]:
    return await done(world, await uploaded(world, *items, **fields), "check", "run")


async def work(services: Services) -> bool:
    return await services.imports.worker.work_on_one(asyncio.Event())


async def rows(world: "World", path: str, query: str = "") -> list[dict[str, Any]]:
    answer = await world.api.get(f"{path}/rows?pageSize=100{query}")
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.json()["rows"]
    return found


async def outcomes(world: "World", path: str) -> list[tuple[str, str, str]]:
    """Return the path, outcome and field of each row."""
    return [(one["path"], one["outcome"], one["field"]) for one in await rows(world, path)]


async def stored_import(world: "World", path: str) -> Import:
    found = await world.services.imports.imports.find(UUID(path.rpartition("/")[2]))
    assert found is not None
    return found
