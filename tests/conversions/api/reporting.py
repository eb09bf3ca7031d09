"""Ways of reporting an event."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from tests.conversions import scene
from tests.factories import create_link
from tests.web.client import Client, Response
from tracker.accounts.accounts import Account
from tracker.service.services import Services

JSON = "application/json"


FORM = "application/x-www-form-urlencoded"


Send = Callable[[Client, dict[str, Any]], Awaitable[Response]]


def texts(fields: dict[str, Any]) -> str:
    """Return `fields` as a query string, with objects as JSON text."""
    shown = {
        name: orjson.dumps(value).decode() if isinstance(value, dict) else value
        for name, value in fields.items()
    }
    return urlencode(shown)


async def by_query(client: Client, fields: dict[str, Any]) -> Response:
    return await client.get(f"/api/event?{texts(fields)}")


async def by_posted_query(client: Client, fields: dict[str, Any]) -> Response:
    headers = {"Content_Length": "0", "Content_Type": JSON}
    return await client.request("POST", f"/api/event?{texts(fields)}", headers)


async def by_json(client: Client, fields: dict[str, Any]) -> Response:
    return await client.post("/api/event", orjson.dumps(fields), Content_Type=JSON)


async def by_beacon(client: Client, fields: dict[str, Any]) -> Response:
    kind = "text/plain;charset=UTF-8"
    return await client.post("/api/event", orjson.dumps(fields), Content_Type=kind)


async def by_untyped_json(client: Client, fields: dict[str, Any]) -> Response:
    return await client.post("/api/event", orjson.dumps(fields))


async def by_form(client: Client, fields: dict[str, Any]) -> Response:
    kind = f"{FORM}; charset=utf-8"
    return await client.post("/api/event", texts(fields).encode(), Content_Type=kind)


async def by_form_data(client: Client, fields: dict[str, Any]) -> Response:
    shown = {
        name: orjson.dumps(value).decode() if isinstance(value, dict) else str(value)
        for name, value in fields.items()
    }
    kind = "multipart/form-data; boundary=----x"
    return await client.post("/api/event", form_data(shown), Content_Type=kind)


def form_data(fields: dict[str, str], ended: bool = True) -> bytes:
    """Return fields as a browser sends a FormData, with the boundary `----x`."""
    parts = [
        f'------x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    return ("".join(parts) + ("------x--\r\n" if ended else "")).encode()


EVERY_WAY = pytest.mark.parametrize(
    "send",
    [by_query, by_posted_query, by_json, by_beacon, by_untyped_json, by_form, by_form_data],
)


async def drained(services: Services) -> None:
    await scene.drained(services)


async def clicked(services: Services, client: Client, account: Account) -> str:
    """Return the id of a click that is in the journal, but not yet in MongoDB."""
    await create_link(services, account.id)
    return (await client.get("/c/abc")).headers["Location"].partition("click_id=")[2]


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value
