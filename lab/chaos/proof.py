"""One run: start, load and disturbances, wait for the rest, compare."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import structs
from pymongo import MongoClient

from config.settings import Settings
from lab.chaos.audit import Audit
from lab.chaos.deliveries import Receiver
from lab.chaos.disturbances import Disturber, Processes, schedule
from lab.chaos.result import Left, Result, Waits
from lab.chaos.traffic import Ledger, longest_apart_from, run_load
from lab.load.single import call
from lab.processes import running
from lab.receiver import receiving
from lab.scene import Scene, prepare_faults
from lab.stores import Stores

SETTLE_SECONDS: Final = 180.0
"""How long the rest may take to be drained. Other drains take over a drain's entries ten seconds
after its death."""

_WATCH_SECONDS: Final = 0.5
_LOOK_SECONDS: Final = 0.2
_MONGODB_SECONDS: Final = 120
_SHOWN_ENTRIES: Final = 10

ShowProgress = Callable[[str], None]


class Options(NamedTuple):
    """The options of a run: `rate` in requests a second, `appendfsync` for Redis."""

    seconds: float
    disturbances: int
    seed: int
    rate: float
    drains: int
    appendfsync: str


class Proof:
    """One run, in a folder of its own."""

    def __init__(self, options: Options, folder: Path, show_progress: ShowProgress) -> None:
        self._options = options
        self._show_progress = show_progress
        self._processes = Processes(folder, options.drains, options.appendfsync)
        self._settings = self._processes.settings
        self._ledger = Ledger()
        self._disturber = Disturber()
        self._receiver = Receiver()

    async def run(self) -> Result:
        """Return the result, with every process ended. Call this from the main thread.

        Raises NotReady if a process does not start.
        """
        self._show_progress("starting")
        async with running(self._processes.stores), receiving(self._receiver.respond) as url:
            scene = await prepare_faults(self._settings, url)
            async with running(self._processes.service), Stores(self._settings) as stores:
                return await self._run(scene, stores)

    async def _run(self, scene: Scene, stores: Stores) -> Result:
        began = time.monotonic()
        async with self._watched():
            await self._load(scene)
            seconds = time.monotonic() - began
            left = await self._settled(stores)
            await self._await_deliveries(stores)
        return await self._compare(scene, seconds, left)

    async def _load(self, scene: Scene) -> None:
        """Send requests until the time is over and the last disturbance is, too."""
        options, stop = self._options, asyncio.Event()
        planned = schedule(options.seed, options.seconds, options.disturbances, options.drains)
        port = self._settings.port
        async with asyncio.TaskGroup() as group:
            group.create_task(run_load(scene, port, self._ledger, options.seed, options.rate, stop))
            await asyncio.gather(
                self._disturber.run(self._processes, planned), asyncio.sleep(options.seconds)
            )
            stop.set()

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
        """Restart what ended by itself and show progress until cancelled."""
        while True:
            for process in self._processes:
                process.restart_if_ended()
            self._show_progress(
                f"{self._disturber.done.total()} of {self._options.disturbances} disturbances, "
                f"{self._ledger.answered:,} answers"
            )
            await asyncio.sleep(_WATCH_SECONDS)

    async def _settled(self, stores: Stores) -> Left:
        """Wait until everything is drained, or SETTLE_SECONDS; return what is left then."""
        for process in self._processes:
            await process.ready()
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            left = await self._left(stores)
            if not (left.journal or left.spool_files):
                return left
            if time.monotonic() > deadline:
                return structs.replace(left, entries=await stores.unacknowledged(_SHOWN_ENTRIES))
            await asyncio.sleep(_LOOK_SECONDS)

    async def _left(self, stores: Stores) -> Left:
        # The spool comes first: what leaves it goes to the journal.
        folder = self._settings.data_path / "spool"
        spooled = len(list(folder.iterdir())) if folder.exists() else 0
        return Left(
            spool_files=spooled,
            journal=await stores.journal_entries(),
            dead_letters=await stores.dead_letters(),
        )

    async def _await_deliveries(self, stores: Stores) -> None:
        """Wait until every delivery is sent, or SETTLE_SECONDS."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline and await stores.due_deliveries():  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)

    async def _compare(self, scene: Scene, seconds: float, left: Left) -> Result:
        self._show_progress("comparing")
        audit = _audited(self._settings)
        ledger = self._ledger
        return Result(
            seed=self._options.seed,
            seconds=seconds,
            disturbances=dict(self._disturber.done),
            findings=audit.findings(ledger, scene.paths, self._receiver),
            left=left,
            waits=self._waits(),
            cut=len(ledger.cut),
            refused=ledger.refused,
            other_answers=dict(sorted(ledger.others.items())),
            report_differences=await self._report_differences(scene, audit.report_totals()),
            ended_by_themselves=[
                line for process in self._processes for line in process.ended_by_itself
            ],
        )

    def _waits(self) -> Waits:
        waits = [wait.seconds for wait in self._ledger.waits] or [0.0]
        return Waits(
            p99=statistics.quantiles([*waits, 0.0], n=100)[98],
            longest=max(waits),
            longest_web_running=longest_apart_from(self._ledger.waits, self._disturber.web_spans),
        )

    async def _report_differences(self, scene: Scene, expected: dict[str, int]) -> list[str]:
        today = datetime.now(UTC).date()
        body = {
            "accountId": str(scene.account_id),
            "dateRange": {"from": f"{today - timedelta(days=1)}", "to": f"{today}"},
            "groupBy": "link",
            "bots": "include",
        }
        _, report = await call(self._settings.port, scene.key, "POST", "/api/reports", body)
        totals = (report or {}).get("totals", {})
        return [
            f"{name}: {totals.get(name)} in the report, {number:,} stored"
            for name, number in expected.items()
            if totals.get(name) != number
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
