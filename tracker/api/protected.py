"""Endpoints that need an API key: `Authorization: Bearer <key>`."""

import re
from uuid import UUID

from tracker.access.api_keys import ApiKey
from tracker.api.handler import Handler
from tracker.errors import Forbidden, Unauthorized

_BEARER = re.compile(r"(?i:bearer) +([\x21-\x7e]{1,200})")


class ProtectedHandler(Handler):
    key: ApiKey

    async def prepare(self) -> None:  # type: ignore[override]
        super().prepare()
        match = _BEARER.fullmatch(self.header("Authorization"))
        if not match:
            raise Unauthorized("API key: send it as Authorization: Bearer <API_KEY>")
        self.key = await self.services.api_keys.authenticate(match[1])

    def require_access(self, account_id: UUID, scope: str) -> None:
        """Raises Forbidden unless the key belongs to the account and has the scope."""
        if account_id != self.key.account_id:
            raise Forbidden("accountId: this API key has no access to the account")
        self.key.require(scope)
