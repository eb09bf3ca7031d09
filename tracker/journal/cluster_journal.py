"""The journal in a Redis Cluster: each stream has its own server, and so its own connection.

While that is away, a group goes to another partition, and to the spool only if none takes it.
"""

from collections.abc import Sequence
from functools import partial

from redis.asyncio import Redis

from tracker.journal.appender import Appender, AppendItem, encode_group
from tracker.journal.journal import Journal
from tracker.journal.partitions import others_after
from tracker.journal.spool import Spool
from tracker.stores.batch import Batch
from tracker.stores.breaker import Breaker


class ClusterJournal(Journal):
    """The journal of one process, in a cluster."""

    def __init__(
        self, redis: Redis, breaker: Breaker, spool: Spool, partitions: int, replicas: int = 0
    ) -> None:
        super().__init__(redis, breaker, spool, partitions, replicas)
        self._appenders = [
            Appender(redis, one, Breaker(), Breaker(), replicas) for one in self._streams
        ]
        self._others: dict[tuple[int, int], Appender] = {}
        self._batches = [
            Batch(partial(self._commit_to, stream)) for stream in range(len(self._streams))
        ]

    def _batch_of(self, stream: int) -> Batch[AppendItem, int | None]:
        return self._batches[stream]

    def _appender_of(self, stream: int) -> Appender:
        return self._appenders[stream]

    async def _flushed(self) -> None:
        for batch in self._batches:
            await batch.flushed()

    async def _commit_to(self, stream: int, group: list[AppendItem]) -> Sequence[int | None]:
        own = self._appenders[stream]
        if own.is_usable:
            with self._recording_failure(own):
                return await own.append(group)
        if await self._append_elsewhere(stream, group):
            return [None] * len(group)
        return await self._commit_to_spool(group)

    async def _append_elsewhere(self, stream: int, group: list[AppendItem]) -> bool:
        """Append a group to another partition; return whether one took it."""
        payload = encode_group(group)
        for other in others_after(stream, self.partitions):
            # The partition's own connection carries one append at a time.
            appender = self._others.setdefault((stream, other), self._appenders[other].copy())
            if appender.is_usable:
                with self._recording_failure(appender):
                    await appender.append_payload(self._streams[other], payload)
                    return True
        return False
