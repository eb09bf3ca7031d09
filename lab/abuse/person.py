"""A person of the neighbour's account, who signs in from an address that others share."""

from collections.abc import Mapping
from typing import Final

import orjson

from lab.requests import ask, head

EMAIL: Final = "ada@neighbour.example"
PASSWORD: Final = "correct horse battery staple"  # noqa: S105
_SHARED_ADDRESS: Final = "198.51.100.7"


async def signs_in(port: int, source: str) -> str:
    """Let the person sign in through the proxy at `source`, and return the status."""
    return (await ask(port, attempt(port, EMAIL, PASSWORD), source))[9:12].decode()


def attempt(port: int, email: str, password: str) -> bytes:
    """Return a sign-in as a page of the console sends it, through a proxy."""
    fields = {"email": email, "password": password}
    client = {"X-Forwarded-For": _SHARED_ADDRESS}
    return from_console(port, "POST", "/api/sign-in", fields, client)


def from_console(
    port: int,
    method: str,
    path: str,
    fields: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
) -> bytes:
    own = {
        "Host": f"localhost:{port}",
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/json",
    }
    body = orjson.dumps(fields) if fields else b""
    return head(method, path, {**own, "Content-Length": str(len(body)), **(headers or {})}) + body
