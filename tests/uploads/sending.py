"""Files of conversions that are sent, worked on and drained."""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from tests.conversions.scene import drained, stored_events
from tests.factories import create_click, create_event_config
from tests.web.client import Response
from tests.web.world import World
from tracker.conversions.event_config import EventConfig, PayoutType

PATH = "/api/conversions/uploads"


async def a_config(world: World, **fields: Any) -> EventConfig:
    given = {"payout_type": PayoutType.REV_SHARE, "payout": "50", **fields}
    return await create_event_config(world.services, world.account.id, **given)


async def clicks(world: World, number: int) -> list[UUID]:
    return [await create_click(world.services, world.account.id) for _ in range(number)]


async def sent(world: World, file: str | bytes, **query: Any) -> Response:
    body = file.encode() if isinstance(file, str) else file
    query = {"accountId": world.account.id, **query}
    named = {name: str(one).lower() for name, one in query.items()}
    return await world.api.send("POST", f"/api/conversions/upload?{urlencode(named)}", body)


async def work(world: World) -> bool:
    return await world.services.uploads.worker.work_on_one(asyncio.Event())


async def shown(world: World, upload_id: str) -> dict[str, Any]:
    answer = await world.api.get(f"{PATH}/{upload_id}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


async def uploaded(world: World, file: str | bytes, **query: Any) -> dict[str, Any]:
    """Send a file, and record and drain its rows; return the upload."""
    answer = await sent(world, file, **query)
    assert answer.status == 200, answer.body
    assert await work(world)
    await drained(world.services)
    return await shown(world, answer.json()["id"])


async def rejected(world: World, upload: dict[str, Any]) -> list[str]:
    answer = await world.api.get(f"{PATH}/{upload['id']}/rejected?format=csv")
    assert answer.status == 200, answer.body
    return answer.body.decode().splitlines()


async def stored(world: World, *names: str) -> list[Sequence[Any]]:
    """Return some fields of each conversion; of money the text."""
    events = await stored_events(world.services)
    return [tuple(_plain(one.get(name)) for name in names) for one in events]


def _plain(value: Any) -> Any:
    return str(value) if hasattr(value, "to_decimal") else value
