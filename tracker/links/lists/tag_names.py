"""Names of tags, for those who list links: trusted for a short time while changes are heard."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from redis.asyncio import Redis

from tracker.links.tags import Tag, Tags
from tracker.stores.batch import Batch
from tracker.stores.cache.trusted_memory import TrustedMemory, publish_changes
from tracker.stores.redis import keys

_MAX_NAMES: Final = 5_000
"""Names in memory, at 400 bytes each."""

_NO_TAG: Final = ""


class TagNames:
    """The names of all accounts' tags. `memory` has those that this process has read."""

    def __init__(self, tags: Tags, redis: Redis) -> None:
        self._tags = tags
        self._redis = redis
        self._look_ups = Batch[UUID, str](self._find_all)
        self.memory: TrustedMemory[str] = TrustedMemory(_MAX_NAMES)

    async def find(self, ids: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the names of the existing tags among `ids`, by id."""
        found = {one: self.memory.peek(keys.tag(one)) for one in ids}
        missing = [one for one, name in found.items() if name is None]
        if missing:
            names = await asyncio.gather(*map(self._get, missing))
            found |= dict(zip(missing, names, strict=True))
        return {one: name for one, name in found.items() if name}

    async def changed(self, tag: Tag) -> None:
        """Have every process forget the name of a tag that was renamed or deleted."""
        self.memory.forget(keys.tag(tag.id))
        await publish_changes(self._redis, keys.tag(tag.id))

    async def _get(self, tag_id: UUID) -> str:
        return await self.memory.get(keys.tag(tag_id), partial(self._find, tag_id))

    async def _find(self, tag_id: UUID) -> str:
        return await self._look_ups.submit(tag_id)

    async def _find_all(self, ids: Sequence[UUID]) -> Sequence[str]:
        found = await self._tags.find(set(ids))
        return [found[one].name if one in found else _NO_TAG for one in ids]
