"""A client that sends JSON with an API key."""

from typing import Any

import orjson

from tests.web.client import Client, Response


class KeyedClient:
    def __init__(self, client: Client, secret: str) -> None:
        self._client = client
        self._secret = secret

    async def get(self, target: str) -> Response:
        return await self.send("GET", target)

    async def delete(self, target: str) -> Response:
        return await self.send("DELETE", target)

    async def post(self, target: str, **fields: Any) -> Response:
        return await self.send("POST", target, orjson.dumps(fields))

    async def patch(self, target: str, **fields: Any) -> Response:
        return await self.send("PATCH", target, orjson.dumps(fields))

    async def send(self, method: str, target: str, body: bytes = b"") -> Response:
        key: dict[str, str | bytes] = {"Authorization": f"Bearer {self._secret}"}
        return await self._client.request(method, target, key, body)
