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

# The requests are one after the other in the file; none has a body.
_SCRIPT: Final = r"""
local requests, number = {}, 0
function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  for request in file:read("*a"):gmatch(".-\r\n\r\n") do
    requests[#requests + 1] = request
  end
  file:close()
end
function request()
  number = number % #requests + 1
  return requests[number]
end
"""

# Lua's own clocks have whole seconds, or the processor time of wrk.
_SCHEDULE: Final = r"""
local ffi = require("ffi")
ffi.cdef[[
  typedef struct { long seconds; long nanoseconds; } moment;
  int clock_gettime(int clock, moment *now);
]]
local moment, began, taken = ffi.new("moment"), nil, 0
local function now()
  ffi.C.clock_gettime(1, moment)  -- CLOCK_MONOTONIC
  return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end
function delay()
  local asked = now()
  began = began or asked
  local due = began + taken / RATE
  taken = taken + 1
  return math.max(0, math.floor((due - asked) * 1000 + 0.5))
end
"""

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
    script.write_text(_SCRIPT if pace is None else _SCRIPT + _SCHEDULE.replace("RATE", str(pace)))
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
