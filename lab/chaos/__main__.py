"""`python -m lab.chaos`: start, load and disturb, wait for the rest, and compare."""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from lab.chaos.audit import Audit, Figure, Receiver
from lab.chaos.corrections import Corrections
from lab.chaos.disturbances import Disturber, schedule
from lab.chaos.link_changes import LinkChanges
from lab.chaos.result import Result
from lab.chaos.topology import TOPOLOGIES, Processes, kinds_of
from lab.chaos.traffic import Ledger, run_load
from lab.client import percentile
from lab.harness import beside, failures_reported, option_parser, run_loop, wait_until
from lab.processes import ended_by_themselves, running
from lab.receiver import ACCEPTED, BUSY, Message, receiving
from lab.requests import call_until_answered
from lab.result import exit_code
from lab.scene import Scene, prepare_faults
from lab.stores import Stores, count_differences, open_stores
from scripts.command import positive
from scripts.progress import ProgressLine

SETTLE_SECONDS: Final = 180.0
"""The limit for draining the rest after the load. Ten seconds after a drain dies, other drains take
over its entries."""

_WATCH_SECONDS: Final = 0.5
_SHOWN_ENTRIES: Final = 10
_UNLOGGED: Final = "removed spools without an error in the log"
_REMOVED: Final = ("spool file was removed or renamed", '"error": "[Errno 2] No such file')
"""Parts of errors in the log of a web process: the second of a file that was just being made."""

_SECONDS_EACH: Final = 8
"""Seconds of load for each disturbance, unless their number is given."""

ShowProgress = Callable[[str], None]


class Options(NamedTuple):
    """The options of a run; `rate` is in requests a second."""

    seconds: float
    disturbances: int
    seed: int
    rate: float
    topology: str


class Proof:
    """One run, in a folder of its own."""

    def __init__(self, options: Options, folder: Path, show_progress: ShowProgress) -> None:
        self._options = options
        self._folder = folder
        self._show_progress = show_progress
        self._processes = Processes(folder, options.topology)
        self._settings = self._processes.settings
        self._ledger = Ledger()
        self._kinds = kinds_of(options.topology)
        self._disturber = Disturber(self._kinds)
        self._receiver = Receiver()

    async def run(self) -> Result:
        """Return the result, with every process ended. Call this from the main thread."""
        self._show_progress("starting")
        async with running(self._processes.stores), receiving(self._respond) as url:
            await self._processes.prepare_stores()
            scene = await prepare_faults(self._settings, url)
            async with running(self._processes.service), open_stores(self._settings) as stores:
                return await self._run(scene, stores)

    async def _run(self, scene: Scene, stores: Stores) -> Result:
        began = time.monotonic()
        async with beside(self._watch()):
            await self._load(scene)
            seconds = time.monotonic() - began
            await self._wait_until_drained(stores)
            await wait_until(stores.are_deliveries_sent, SETTLE_SECONDS)
        return await self._compare(scene, stores, seconds)

    async def _load(self, scene: Scene) -> None:
        options, stop = self._options, asyncio.Event()
        planned = schedule(options.seed, options.seconds, options.disturbances, self._kinds)
        port = self._settings.port
        self._changes = changes = LinkChanges(scene, port, options.seed)
        self._corrections = corrections = Corrections(scene, port, options.seed, self._ledger)
        async with asyncio.TaskGroup() as group:
            group.create_task(run_load(scene, port, self._ledger, options.seed, options.rate, stop))
            group.create_task(changes.run(stop))
            group.create_task(corrections.run(stop))
            await asyncio.gather(
                self._disturber.run(self._processes, planned), asyncio.sleep(options.seconds)
            )
            stop.set()

    async def _watch(self) -> None:
        while True:
            for process in self._processes:
                process.restart_if_ended()
            self._show_progress(
                f"{self._disturber.done.total()} of {self._options.disturbances} disturbances, "
                f"{self._ledger.answered:,} answers"
            )
            await asyncio.sleep(_WATCH_SECONDS)

    async def _respond(self, message: Message, transport: asyncio.WriteTransport) -> None:
        message_id = message.headers["webhook-id"]
        accepted = self._receiver.accept(message.path, message_id, message.body)
        transport.write(ACCEPTED if accepted else BUSY)

    async def _wait_until_drained(self, stores: Stores) -> None:
        for process in self._processes:
            await process.ready()
        await self._processes.in_step()

        async def is_drained() -> bool:
            # The spool comes first: what leaves it goes to the journal.
            return not self._spool_files() and not await stores.journal_entries()

        await wait_until(is_drained, SETTLE_SECONDS)

    def _spool_files(self) -> int:
        return len(list((self._settings.data_path / "spool").glob("*")))

    async def _compare(self, scene: Scene, stores: Stores, seconds: float) -> Result:
        self._show_progress("comparing")
        left = [
            Figure("journal entries not drained", await stores.journal_entries(), is_fault=True),
            Figure("spool files not replayed", self._spool_files(), is_fault=True),
            Figure("dead letters", await stores.dead_letters(), is_fault=True),
        ]
        held = await stores.unacknowledged(_SHOWN_ENTRIES)
        audit, ledger, changes = await _audit_stores(stores), self._ledger, self._changes
        loses_marks = self._settings.journal_replicas > 0
        differ = await asyncio.to_thread(count_differences, self._settings)
        ended, waits = ended_by_themselves(self._processes), sorted(ledger.waits)
        return Result(
            seed=self._options.seed,
            seconds=seconds,
            disturbances=dict(self._disturber.done),
            figures=[
                *audit.figures(ledger, scene.paths, self._receiver, loses_marks),
                Figure("clicks beyond a limit", audit.beyond_limit(scene.limited, ledger), True),
                *(
                    Figure(f"corrections {kind}", number)
                    for kind, number in sorted(self._corrections.answers.items())
                ),
                Figure("links changed", changes.changed),
                Figure("redirects after their answers", changes.looks),
                Figure("old destinations", changes.old, is_fault=True),
                Figure("figures that differ from the documents", differ, is_fault=True),
                *left,
                Figure(_UNLOGGED, self._unlogged_removals(), is_fault=True),
                Figure("requests without an answer", len(ledger.cut)),
                Figure("connections that nobody accepted", ledger.refused),
                Figure("processes that ended by themselves", len(ended)),
            ],
            other_answers=dict(sorted(ledger.others.items())),
            report_differences=await self._report_differences(scene, audit.report_totals()),
            held=held,
            ended_by_themselves=ended,
            p99_wait=percentile(waits, 0.99),
            longest_wait=percentile(waits, 1),
        )

    async def _report_differences(self, scene: Scene, expected: Mapping[str, float]) -> list[str]:
        today = datetime.now(UTC).date()
        body = {
            "accountId": str(scene.account_id),
            "dateRange": {"from": f"{today - timedelta(days=1)}", "to": f"{today}"},
            "groupBy": "link",
            "bots": "include",
        }
        # The last disturbance may have been of the process that is asked.
        asked = (self._settings.port, scene.key, "POST", "/api/reports", body)
        status, report = await call_until_answered(*asked)
        if status != "200":
            return [f"no report: {status} {report}"]
        if (cost := report["totals"].get("cost")) not in (costs := self._corrections.costs):
            return [f"cost: {cost} in the report, {sorted(costs)} put"]
        return [
            f"{name}: {shown} in the report, {number:,} stored"
            for name, number in expected.items()
            if (shown := report["totals"].get(name, 0)) != number
        ]

    def _unlogged_removals(self) -> int:
        log = (self._folder / "web.log").read_text("utf-8", errors="replace")
        errors = sum(map(log.count, _REMOVED))
        return max(0, self._disturber.done["remove spool"] - errors)


async def _audit_stores(stores: Stores) -> Audit:
    audit = Audit()
    async for click in stores.documents("clicks"):
        audit.add_click(click)
    async for event in stores.documents("events"):
        audit.add_event(event)
    async for delivery in stores.documents("deliveries"):
        audit.add_delivery(delivery)
    return audit


def main(arguments: Sequence[str] | None = None) -> int:
    parsed = _parser().parse_args(arguments)
    seed = random.randrange(1_000_000) if parsed.seed is None else parsed.seed  # noqa: S311
    count = parsed.seconds // _SECONDS_EACH if parsed.kills is None else parsed.kills
    options = Options(parsed.seconds, count, seed, parsed.rate, parsed.topology)
    folder, line = Path(tempfile.mkdtemp(prefix="chaos-")), ProgressLine()
    result = None
    try:
        with failures_reported("chaos"):
            result = run_loop(lambda: Proof(options, folder, line.show).run())
    finally:
        line.end()
        if result is None or not result.faults():
            shutil.rmtree(folder, ignore_errors=True)
    faults = result.faults()
    print(result.table())
    print("FAILED" if faults else "kept: what was answered is stored and counted, exactly once")
    if faults:
        print(f"logs and stores are in {folder}", file=sys.stderr)
    return exit_code(faults)


def _parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "chaos",
        "Kill and stop the service and its stores under load, again and again, and "
        "compare the answers with what is stored and counted. Exit code 1 if anything was "
        "lost, doubled or counted wrongly.",
        "example:\n  make chaos ARGS='--seconds 60 --seed 7'",
    )
    parser.add_argument("--seconds", type=positive, default=180, help="seconds of load [180]")
    parser.add_argument(
        "--kills",
        type=positive,
        metavar="N",
        help="number of disturbances: kills and stops of web, drain, redis and mongod, and removals"
        " of the spool while Redis is down, about as many of each "
        f"[one in {_SECONDS_EACH} seconds]",
    )
    parser.add_argument("--seed", type=int, help="number that decides the schedule [random]")
    parser.add_argument("--rate", type=positive, default=400, help="requests a second [400]")
    parser.add_argument(
        "--topology",
        choices=TOPOLOGIES,
        default="single",
        help="one Redis and one mongod; or three of each, with sentinels, whose primaries are also "
        "demoted, cut off, and killed behind lagging replicas; or a Redis Cluster of three with "
        "replicas, which may be away together [single]",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
