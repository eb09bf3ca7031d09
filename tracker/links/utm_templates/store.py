"""The UTM templates of accounts in MongoDB, those of an account in one document."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from tracker.stores.mongodb.database import MongoDB


class UtmTemplate(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A named set of values; an empty one is left out of destinations."""

    name: str
    utm_source: str
    utm_medium: str
    utm_campaign: str
    utm_term: str
    utm_content: str


class UtmTemplates:
    """The stored templates."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._stored = mongodb["utm_templates"]

    async def of(self, account_id: UUID) -> list[UtmTemplate]:
        row = await self._stored.find_one({"_id": account_id})
        return msgspec.convert(row["templates"] if row else [], list[UtmTemplate])

    async def replace(self, account_id: UUID, templates: Sequence[UtmTemplate]) -> None:
        row = {"templates": msgspec.to_builtins(templates)}
        await self._stored.replace_one({"_id": account_id}, row, upsert=True)
