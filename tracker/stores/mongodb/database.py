"""The one handle of MongoDB, for both of its drivers (`docs/decisions/stores.md` says why two)."""

from tracker.stores.mongodb import drivers
from tracker.stores.mongodb.drivers import Collection
from tracker.stores.mongodb.reads import MongoReads


class MongoDB:
    """The database `name`. `database` writes and runs transactions; `reads` reads for requests."""

    def __init__(self, uri: str, name: str) -> None:
        self.client = drivers.mongodb(uri)
        self.database = self.client[name]
        self._reading_client = drivers.mongodb_for_reads(uri)
        self.reads = MongoReads(self._reading_client[name])

    def __getitem__(self, collection: str) -> Collection:
        return self.database[collection]

    async def close(self) -> None:
        self.client.close()
        await self._reading_client.close()
