"""A person of the neighbour's account, who signs in from an address that others share."""

from typing import Final

import orjson

from lab.requests import ask, post

EMAIL: Final = "ada@neighbour.example"
PASSWORD: Final = "correct horse battery staple"  # noqa: S105
_SHARED_ADDRESS: Final = "198.51.100.7"


async def signs_in(port: int, source: str) -> str:
    """Let the person sign in through the proxy at `source`, and return the status."""
    return (await ask(port, attempt(port, EMAIL, PASSWORD), source))[9:12].decode()


def attempt(port: int, email: str, password: str) -> bytes:
    """Return a sign-in as a page of the console sends it, through a proxy."""
    fields = {
        "Host": f"localhost:{port}",
        "Sec-Fetch-Site": "same-origin",
        "X-Forwarded-For": _SHARED_ADDRESS,
    }
    body = orjson.dumps({"email": email, "password": password})
    return post("/api/sign-in", "application/json", body, fields)
