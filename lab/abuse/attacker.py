"""One attack in a process of its own, so that its work does not slow what measures the visitors.

`python -m lab.abuse.attacker NAME SECONDS` prints a line when it is ready, reads its `Target`
from a line of standard input, attacks, and prints its `Report` as a line. `make abuse` starts it.
"""

import resource
import sys
from collections.abc import Sequence

import msgspec
import uvloop

from lab.abuse.rows import ROWS
from lab.abuse.target import Report, Target

READY = "ready"


async def _attack(name: str, target: Target, seconds: float) -> Report:
    [row] = [row for row in ROWS if row.name == name]
    try:
        return await row.attack(target, seconds)
    except Exception as error:
        return Report(findings=[f"the attack ended by {type(error).__name__}: {error}"])


def main(arguments: Sequence[str]) -> int:
    """Run the attack that is named. Return the exit code."""
    name, seconds = arguments
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(READY, flush=True)
    target = msgspec.json.decode(sys.stdin.readline(), type=Target)
    report = uvloop.run(_attack(name, target, float(seconds)))
    print(msgspec.json.encode(report).decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
