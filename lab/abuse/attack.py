"""Starts the process of an attacker, and has it attack when visitors are on their way."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import msgspec

from lab.abuse.attacker import READY
from lab.abuse.rows import Row
from lab.abuse.target import Report, Target
from lab.processes import ROOT, NotReady

_MORE_SECONDS: Final = 40.0
"""How much longer than wanted an attack may take, for its last answers."""

_LINE_BYTES: Final = 1024 * 1024


@contextlib.asynccontextmanager
async def attacker(
    row: Row, seconds: float, target: Target
) -> AsyncIterator[Callable[[], Awaitable[Report]]]:
    """Yield what attacks for `seconds`, once its process is ready, and returns what it got."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "lab.abuse.attacker", row.name, str(seconds)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def attack() -> Report:
        stdin.write(msgspec.json.encode(target) + b"\n")
        try:
            async with asyncio.timeout(seconds + _MORE_SECONDS):
                return msgspec.json.decode(await stdout.readline(), type=Report)
        except (TimeoutError, msgspec.DecodeError):
            return Report(findings=["the attack did not come to an end"])

    try:
        if (await stdout.readline()).decode().strip() != READY:
            raise NotReady(f"the attacker of {row.name} did not start")
        yield attack
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
