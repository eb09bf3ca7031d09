"""The whole of it, in order: start, load and disturbances, let it settle, compare."""

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from msgspec import structs
from pymongo import MongoClient
from redis.asyncio import Redis

from config.settings import Settings
from lab.chaos import scene
from lab.chaos.audit import Audit
from lab.chaos.ledger import Ledger, longest_apart_from
from lab.chaos.load import Connection, Load
from lab.chaos.processes import Processes
from lab.chaos.receiver import Receiver, receiving
from lab.chaos.requests import post
from lab.chaos.result import Left, Result, Waits
from lab.chaos.scene import Scene
from lab.chaos.schedule import KINDS, Disturbance, schedule
from lab.processes import Process, started
from tracker.db.connect import mongodb, redis_for_requests
from tracker.db.keys import DEAD_LETTERS, DRAIN_GROUP, JOURNAL
from tracker.webhooks.delivery import Status

SETTLE_SECONDS: Final = 180.0
"""For what is left to be drained. A drain's entries are taken over ten seconds after its death."""

_WATCH_EVERY: Final = 0.5
_LOOK_EVERY: Final = 0.2
_MONGODB_SECONDS: Final = 120
_SHOWN: Final = 10

Say = Callable[[str], None]


class Options(NamedTuple):
    """`rate` is in requests a second, `appendfsync` the setting of Redis."""

    seconds: float
    disturbances: int
    seed: int
    rate: float
    drains: int
    appendfsync: str


class Proof:
    """One run, in a folder of its own. `say` is told how far it has come, now and then."""

    def __init__(self, options: Options, folder: Path, say: Say) -> None:
        self._options = options
        self._say = say
        self._processes = Processes(folder, options.drains, options.appendfsync)
        self._ledger = Ledger()
        self._done: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        self._web_away: list[tuple[float, float]] = []

    async def run(self) -> Result:
        """From the main thread. Raises NotReady; every process is ended when it returns."""
        with self._processes.ended():
            async with receiving() as receiver:
                found = await self._start(receiver)
                began = time.monotonic()
                async with self._watched():
                    await self._load(found)
                    seconds = time.monotonic() - began
                    left = await self._settle()
                    await self._send()
                return await self._compare(found, receiver, seconds, left)

    async def _start(self, receiver: Receiver) -> Scene:
        self._say("starting")
        await started(self._processes.stores)
        found = await scene.prepare(self._processes.settings, receiver.url)
        await started(self._processes.service)
        return found

    async def _load(self, found: Scene) -> None:
        """Until the time is over and the last disturbance is, too."""
        options, stop = self._options, asyncio.Event()
        port = self._processes.settings.port
        load = Load(found, port, self._ledger, options.seed, options.rate)
        async with asyncio.TaskGroup() as group:
            group.create_task(load.run(stop))
            await asyncio.gather(self._disturb(), asyncio.sleep(options.seconds))
            stop.set()

    async def _disturb(self) -> None:
        options = self._options
        planned = schedule(options.seed, options.seconds, options.disturbances, options.drains)
        began = time.monotonic()
        await asyncio.gather(
            *(
                self._disturb_one(process, began, [one for one in planned if one.process == name])
                for process in self._processes
                for name in [process.name]
            )
        )

    async def _disturb_one(
        self, process: Process, began: float, planned: Sequence[Disturbance]
    ) -> None:
        """One after the other, each at its time, or as soon as the one before it is over."""
        for one in planned:
            await asyncio.sleep(max(0.0, began + one.at - time.monotonic()))
            away_from = time.monotonic()
            if one.is_kill:
                await process.kill()
            else:
                process.stop()
            await asyncio.sleep(one.seconds)
            if one.is_kill:
                process.start()
            else:
                process.resume()
            self._done[one.kind] += 1
            if process.name == "web":
                self._web_away.append((away_from, time.monotonic()))

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[None]:
        watch = asyncio.get_running_loop().create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch

    async def _watch(self) -> None:
        while True:
            for process in self._processes:
                process.restart_if_ended()
            self._say(
                f"{self._done.total()} of {self._options.disturbances} disturbances, "
                f"{self._ledger.answered:,} answers"
            )
            await asyncio.sleep(_WATCH_EVERY)

    async def _settle(self) -> Left:
        """Wait until nothing is left to be drained, or SETTLE_SECONDS; what is left then."""
        for process in self._processes:
            await process.ready()
        redis = redis_for_requests(self._processes.settings.redis_url)
        deadline = time.monotonic() + SETTLE_SECONDS
        try:
            while True:
                left = await _left(redis, self._processes.settings)
                if not (left.journal or left.spool_files):
                    return left
                if time.monotonic() > deadline:
                    return structs.replace(left, entries=await _held(redis))
                await asyncio.sleep(_LOOK_EVERY)
        finally:
            await redis.aclose()

    async def _send(self) -> None:
        """Wait until nothing is left to be sent to webhooks, or SETTLE_SECONDS."""
        settings = self._processes.settings
        client = mongodb(settings.mongodb_uri)
        deliveries = client[settings.mongodb_database]["deliveries"]
        deadline = time.monotonic() + SETTLE_SECONDS
        try:
            while time.monotonic() < deadline:
                if not await deliveries.count_documents({"status": Status.DUE}):
                    return
                await asyncio.sleep(_LOOK_EVERY)
        finally:
            client.close()

    async def _compare(
        self, found: Scene, receiver: Receiver, seconds: float, left: Left
    ) -> Result:
        self._say("comparing")
        audit = _audited(self._processes.settings)
        ledger = self._ledger
        waits = [wait.seconds for wait in ledger.waits] or [0.0]
        return Result(
            seed=self._options.seed,
            seconds=seconds,
            disturbances=dict(self._done),
            findings=audit.findings(ledger, found.paths, receiver),
            left=left,
            waits=Waits(
                p99=statistics.quantiles([*waits, 0.0], n=100)[98],
                longest=max(waits),
                longest_web_running=longest_apart_from(ledger.waits, self._web_away),
            ),
            cut=len(ledger.cut),
            refused=ledger.refused,
            other_answers=dict(sorted(ledger.others.items())),
            report_differences=await self._report_differences(found, audit.report_totals()),
            ended_by_themselves=[
                line for process in self._processes for line in process.ended_by_itself
            ],
        )

    async def _report_differences(self, found: Scene, expected: dict[str, int]) -> list[str]:
        today = datetime.now(UTC).date()
        body = {
            "accountId": str(found.account_id),
            "dateRange": {"from": f"{today - timedelta(days=1)}", "to": f"{today}"},
            "groupBy": "link",
            "bots": "include",
        }
        connection = Connection(self._processes.settings.port)
        try:
            answer = await connection.send(
                post("/api/reports", body, {"Authorization": f"Bearer {found.key}"})
            )
        finally:
            connection.close()
        totals = orjson.loads(answer.body).get("totals", {})
        return [
            f"{name}: {totals.get(name)} in the report, {number:,} stored"
            for name, number in expected.items()
            if totals.get(name) != number
        ]


async def _left(redis: Redis, settings: Settings) -> Left:
    """The spool is looked at first: what leaves it comes into the journal."""
    folder = settings.data_path / "spool"
    spooled = len(list(folder.iterdir())) if folder.exists() else 0
    return Left(
        spool_files=spooled,
        journal=await redis.xlen(JOURNAL),
        dead_letters=await redis.xlen(DEAD_LETTERS),
    )


async def _held(redis: Redis) -> list[str]:
    """Entries that drains have read and not acknowledged."""
    held: Any = await redis.xpending_range(JOURNAL, DRAIN_GROUP, "-", "+", _SHOWN)
    return [
        f"{one['message_id'].decode()} is with {one['consumer'].decode()} for "
        f"{one['time_since_delivered'] / 1000:.0f} s, delivered {one['times_delivered']} times"
        for one in held
    ]


def _audited(settings: Settings) -> Audit:
    audit = Audit()
    with MongoClient[dict[str, Any]](
        settings.mongodb_uri,
        uuidRepresentation="standard",
        tz_aware=True,
        timeoutMS=_MONGODB_SECONDS * 1000,
    ) as client:
        database = client[settings.mongodb_database]
        for click in database["clicks"].find(projection={"referrer": False}):
            audit.add_click(click)
        for event in database["events"].find():
            audit.add_event(event)
        for rollup in database["rollups"].find():
            audit.add_rollup(rollup)
        for delivery in database["deliveries"].find():
            audit.add_delivery(delivery)
    return audit
