"""The soak: clicks and events at a steady rate for minutes. Does it grow, fail or lose records?"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from config.settings import Settings
from lab.client import Load, percentile
from lab.harness import beside, on_own_stores, option_parser
from lab.process_usage import MAX_GROWTH_BYTES, MEGABYTE, resident_bytes
from lab.processes import free_ports, loaded_process, running
from lab.result import LoadAudit, exit_code, figure_lines, with_faults
from lab.scene import prepare_load
from lab.stores import Stores, audit_load, open_stores
from lab.traffic import Closed, Mixed, Paced
from scripts.command import positive

LINKS: Final = 1_000

FULL_SPEED_SECONDS: Final = 5.0
"""The duration of the first load, at full speed, which determines the rate."""

GROWN_FROM_CLICKS: Final = 100_000
"""Clicks after which the web process should not grow any more."""

DRAIN_SECONDS: Final = 300.0
_PROGRESS_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.25
_RECENT_LATENCIES: Final = 10_000


class Options(NamedTuple):
    """The load; a `rate` of None is half of the highest."""

    seconds: int
    rate: int | None


class Result(msgspec.Struct, kw_only=True):
    """The figures of a soak; `growth` is that of the web process, None without enough clicks."""

    clicks: int
    events: int
    errors: dict[str, int]
    unknown: int
    growth: int | None
    audit: LoadAudit

    def faults(self) -> list[str]:
        lines = [f"{count:,} {kind}" for kind, count in self.errors.items()]
        lines += self.audit.faults()
        lines += [f"{self.unknown:,} stored and not answered"] * bool(self.unknown)
        if self.growth is not None and self.growth > MAX_GROWTH_BYTES:
            lines.append(f"the web process grew by {self.growth / MEGABYTE:.1f} MB")
        return lines

    def table(self) -> str:
        growth = "-" if self.growth is None else f"{self.growth / MEGABYTE:.1f} MB"
        figures = [
            *self.audit.rows(),
            ("clicks", f"{self.clicks:,}"),
            ("events", f"{self.events:,}"),
            ("errors", f"{sum(self.errors.values()):,}"),
            ("stored and not answered", f"{self.unknown:,}"),
            ("growth of the web process", growth),
        ]
        return with_faults(figure_lines(figures), self.faults())


class Soak:
    """One run, in a folder of its own; `stores` says where the stores are."""

    def __init__(self, options: Options, folder: Path, stores: Settings) -> None:
        self._options = options
        self._settings = stores
        [port] = free_ports(1)
        self._processes = [
            loaded_process(folder, stores, "web", port),
            loaded_process(folder, stores, "drain", port),
        ]
        self._loads: list[Load] = []
        self._size_before: int | None = None
        self._began = time.monotonic()

    async def run(self) -> Result:
        traffic = Mixed(await prepare_load(self._settings, LINKS))
        async with running(self._processes), open_stores(self._settings) as stores:
            return await self._run(traffic, stores)

    async def _run(self, traffic: Mixed, stores: Stores) -> Result:
        async with beside(self._watch(traffic, stores)):
            await self._load(traffic)
            size_after = resident_bytes(self._processes[0].pid)
            await stores.wait_until_drained(DRAIN_SECONDS)
        return await self._compare(traffic, stores, size_after)

    async def _load(self, traffic: Mixed) -> None:
        options, rate = self._options, self._options.rate
        if rate is None:
            top = await self._new_load(traffic).run(Closed(time.perf_counter(), FULL_SPEED_SECONDS))
            rate = max(1, int(top.rate / 2))
            print(f"{top.rate:,.0f} requests/s at full speed; continues at {rate:,}", flush=True)
        paced = Paced(time.perf_counter(), options.seconds, rate)
        await self._new_load(traffic).run(paced)

    def _new_load(self, traffic: Mixed) -> Load:
        load = Load(self._processes[0].port, traffic)
        self._loads.append(load)
        return load

    async def _watch(self, traffic: Mixed, stores: Stores) -> None:
        pids = {one.name: one.pid for one in self._processes} | await stores.pids()
        print_at = self._began + _PROGRESS_SECONDS
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._size_before is None and traffic.clicks >= GROWN_FROM_CLICKS:
                self._size_before = resident_bytes(pids["web"])
            for process in self._processes:
                process.restart_if_ended()
            if time.monotonic() >= print_at:
                print_at += _PROGRESS_SECONDS
                await self._print_progress(traffic, stores, pids)

    async def _print_progress(self, traffic: Mixed, stores: Stores, pids: dict[str, int]) -> None:
        stored = await stores.stored("clicks") + await stores.stored("events")
        sizes = ", ".join(f"{n} {resident_bytes(pid) / MEGABYTE:.0f}" for n, pid in pids.items())
        recent = sorted(self._loads[-1].latencies[-_RECENT_LATENCIES:])
        print(
            f"{time.monotonic() - self._began:5.0f} s  {traffic.answered:,} requests, "
            f"{sum(sum(load.errors.values()) for load in self._loads):,} errors, "
            f"p99 {percentile(recent, 0.99) * 1000:.1f} ms, "
            f"backlog {max(0, traffic.answered - stored):,}; resident MB: {sizes}",
            flush=True,
        )

    async def _compare(self, traffic: Mixed, stores: Stores, size_after: int) -> Result:
        audit = await audit_load(stores, self._settings, traffic, self._processes)
        stored = await stores.stored("clicks") + await stores.stored("events")
        errors = sum((load.errors for load in self._loads), start=Counter[str]())
        before = self._size_before
        return Result(
            clicks=traffic.clicks,
            events=len(traffic.event_ids),
            errors=dict(errors),
            unknown=stored - (traffic.answered - audit.lost),
            growth=None if before is None else size_after - before,
            audit=audit,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parsed = _parser().parse_args(arguments)
    options = Options(**vars(parsed))
    result = on_own_stores("soak", lambda folder, stores: Soak(options, folder, stores).run())
    print(result.table())
    return exit_code(result.faults())


def _parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "soak",
        "Send clicks and events at a steady rate; print every 30 s the resident size of each "
        "process, requests, errors and backlog. Exit code 1 after any error, if anything was lost, "
        "or if the web process grew by more than 20 MB after its first 100,000 clicks.",
        "example:\n  make soak ARGS='--seconds 120 --rate 2000'",
    )
    parser.add_argument("--seconds", type=positive, default=600, help="seconds of load [600]")
    parser.add_argument(
        "--rate", type=positive, help="requests a second [half of the rate at full speed]"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
