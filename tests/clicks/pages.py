"""Pages that report clicks, on the host of the service unless they say another one."""

from typing import Any

import orjson

from tests.factories import CHROME
from tests.web.client import Client, Response

ORIGIN = "https://tracker.test"
PAGE = f"{ORIGIN}/offer"


async def report(client: Client, headers: dict[str, str] | None = None, **fields: Any) -> Response:
    """Report a click of the link `abc`, as `fields` change it; None leaves a field out."""
    given = {"slug": "abc", "url": PAGE, **fields}
    sent = {name: value for name, value in given.items() if value is not None}
    named = {
        "Origin": ORIGIN,
        "User-Agent": CHROME,
        "Content-Type": "text/plain",
        **(headers or {}),
    }
    return await client.request("POST", "/api/click", named, orjson.dumps(sent))
