"""The table of attacks, and the process that runs one of them beside the visitors.

`python -m lab.abuse.attacker NAME SECONDS` prints a line when it is ready, reads its `Target` from
a line of standard input, attacks, and prints its `Report` as a line. `make abuse` starts it.
"""

import asyncio
import contextlib
import resource
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, Literal, NamedTuple

import msgspec
import uvloop

from lab.abuse import attacks
from lab.abuse.attack import Report, Target
from lab.processes import ROOT, NotReady

_READY: Final = "ready"

_EXTRA_SECONDS: Final = 40.0
"""The time beyond its duration that an attack may take for its last answers."""

_LINE_BYTES: Final = 1024 * 1024

Serving = Literal["web", "tls", "unread log", "public targets"]
"""The web process that an attack meets: the shared one, one with TLS, one whose log nobody reads
during the attack, or one that refuses webhooks to this machine. The others allow them, because the
receivers of attacks run here."""


class Row(NamedTuple):
    """An attack: a function of the target and the duration in seconds."""

    name: str
    title: str
    attack: Callable[[Target, float], Awaitable[Report]]
    serving: Serving = "web"


ROWS: Final = (
    Row("nested-json", "1 MiB of nested JSON, long queries, forms", attacks.nested_json),
    Row("bodies", "60 bodies of 8 MiB that never end", attacks.unfinished_bodies),
    Row("names", "1,000 random slugs, hosts and keys a second", attacks.random_names),
    Row("nobody", "conversions of clicks that never were", attacks.events_of_nobody),
    Row("forged", "conversions forged by a visitor", attacks.forged_conversions),
    Row("connections", "2,000 idle connections of one address", attacks.idle_connections),
    Row("handshakes", "2,000 TLS handshakes never begun", attacks.idle_handshakes, "tls"),
    Row("network", "API keys guessed from one IPv6 network", attacks.one_network),
    Row("log", "a log that nobody reads", attacks.nothing, "unread log"),
    Row(
        "resolver", "webhooks to names whose DNS is silent", attacks.silent_names, "public targets"
    ),
    Row("domains", "claims on other people's domains", attacks.claimed_domains),
    Row("loop", "a webhook to the service itself", attacks.webhook_loop),
    Row("reports", "50 crossed reports beside a small one", attacks.crossed_reports),
    Row("trickle", "a receiver that answers byte by byte", attacks.trickling_receiver),
    Row("gone", "a receiver that is gone", attacks.failing_receiver),
)


@contextlib.asynccontextmanager
async def attacker(
    row: Row, seconds: float, target: Target
) -> AsyncIterator[Callable[[], Awaitable[Report]]]:
    """Yield a function that attacks for `seconds` and returns the report.

    The process of the attacker is ready by then. Raises NotReady if it does not start.
    """
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
            async with asyncio.timeout(seconds + _EXTRA_SECONDS):
                return msgspec.json.decode(await stdout.readline(), type=Report)
        except (TimeoutError, msgspec.DecodeError):
            return Report(findings=["the attack did not come to an end"])

    try:
        if (await stdout.readline()).decode().strip() != _READY:
            raise NotReady(f"the attacker of {row.name} did not start")
        yield attack
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _attack(name: str, target: Target, seconds: float) -> Report:
    [row] = [row for row in ROWS if row.name == name]
    try:
        return await row.attack(target, seconds)
    except Exception as error:
        return Report(findings=[f"the attack ended by {type(error).__name__}: {error}"])


def main(arguments: Sequence[str]) -> int:
    """Run the named attack and return the exit code."""
    name, seconds = arguments
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    print(_READY, flush=True)
    target = msgspec.json.decode(sys.stdin.readline(), type=Target)
    report = uvloop.run(_attack(name, target, float(seconds)))
    print(msgspec.json.encode(report).decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
