"""wrk, a load generator in C: how it is started, and how its output is read.

A script lets it hold a rate. A latency counts from when the request was sent, so there must be more
connections than requests in flight.
"""

import asyncio
import re
import shutil
from pathlib import Path
from typing import Final

from lab.client import NOT_SENT, Outcome
from lab.harness import CannotMeasure

_SPARE_SECONDS: Final = 20.0

_SCRIPT, _SCHEDULE = (Path(__file__).with_name(one) for one in ("wrk.lua", "wrk_pace.lua"))

_MIN_ANSWERED_SHARE: Final = 0.97
"""The share of a schedule's requests that must be answered: the last ones are still in flight, and
the first ones wait for their connections."""

_UNITS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PERCENTILE: Final = re.compile(r"^\s+(\d+)%\s+([\d.]+)(us|ms|s|m|h)\s*$", re.MULTILINE)
_TOTAL: Final = re.compile(r"^\s+(\d+) requests in ([\d.]+)(us|ms|s|m|h),", re.MULTILINE)
_SOCKETS: Final = re.compile(r"errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_STATUSES: Final = re.compile(r"Non-2xx or 3xx responses: (\d+)")


def is_installed() -> bool:
    return shutil.which("wrk") is not None


async def run(
    folder: Path,
    port: int,
    requests: list[bytes],
    connections: int,
    seconds: int,
    pace: float | None = None,
) -> Outcome:
    """Send `requests` in turn, as fast as they are answered or all together `pace` a second."""
    script, prepared = folder / "wrk.lua", folder / "requests"
    schedule = "" if pace is None else _SCHEDULE.read_text().replace("RATE", str(pace))
    script.write_text(_SCRIPT.read_text() + schedule)
    prepared.write_bytes(b"".join(requests))
    process = await asyncio.create_subprocess_exec(
        *("wrk", "--latency", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s"),
        *("-s", str(script), f"http://127.0.0.1:{port}", "--", str(prepared)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds + _SPARE_SECONDS):
            printed, _ = await process.communicate()
    except TimeoutError:
        raise CannotMeasure(f"wrk did not end within {seconds + _SPARE_SECONDS:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    outcome = parse(printed.decode(errors="replace"))
    unsent = int(seconds * (pace or 0) * _MIN_ANSWERED_SHARE) - outcome.requests
    if unsent > 0:
        outcome.errors[NOT_SENT] = unsent
    return outcome


def parse(printed: str) -> Outcome:
    total = _TOTAL.search(printed)
    percentiles = {
        int(part): float(number) * _UNITS[unit]
        for part, number, unit in _PERCENTILE.findall(printed)
    }
    if total is None or not {50, 99} <= percentiles.keys():
        raise CannotMeasure(f"wrk printed: {' '.join(printed.split())[:300]}")
    errors = _errors(printed)
    return Outcome(
        requests=int(total[1]) - errors.get("other status", 0),
        seconds=float(total[2]) * _UNITS[total[3]],
        p50=percentiles[50],
        p99=percentiles[99],
        errors=errors,
    )


def _errors(printed: str) -> dict[str, int]:
    errors = {}
    if sockets := _SOCKETS.search(printed):
        names = ("connect", "read", "write", "timeout")
        errors = dict(zip(names, map(int, sockets.groups()), strict=True))
    if statuses := _STATUSES.search(printed):
        errors["other status"] = int(statuses[1])
    return {name: count for name, count in errors.items() if count}
