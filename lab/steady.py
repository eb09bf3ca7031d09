"""The suite several times, each in another order, beside two busy processes: what is unsteady?

The run fails if a test was unsteady (it failed, and passed when it was run once more) or failed.
"""

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from lab.harness import failures_reported, option_parser
from scripts.command import positive
from tracker.stores.builtin.child import end_with_parent

BUSY: Final = 2
_END_SECONDS: Final = 60.0
_NAMED: Final = re.compile(r"^(?:(unsteady): |(?:FAILED|ERROR) )(.+?)(?: - .*)?$")

Found = dict[tuple[str, str], list[int]]
"""The seeds by a test and its state: `unsteady` or `failed`."""


def main() -> None:
    parser = option_parser("steady", "Run tests several times beside two busy processes.", "")
    parser.add_argument("--runs", type=positive, default=5, help="[5]")
    parser.add_argument("command", nargs="+", help="runs tests in the order of SEED")
    options = parser.parse_args()
    with failures_reported("steady"), ExitStack() as stack:
        for _ in range(BUSY):
            stack.enter_context(_running([sys.executable, "-c", "while True: pass"]))
        found, ended = _run(options.command, options.runs)
    print("\n".join(lines(found)))
    sys.exit(int(bool(found) or any(ended)))


def lines(found: Found) -> list[str]:
    """Return a line for each test, those first that were named most often."""
    ordered = sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
    return [
        f"{state} {len(seeds)} x: {test} (SEED={', '.join(map(str, seeds))})"
        for (test, state), seeds in ordered
    ] or ["nothing was unsteady"]


def _run(command: Sequence[str], runs: int) -> tuple[Found, list[int]]:
    found: Found = {}
    ended = []
    for run in range(1, runs + 1):
        seed = random.getrandbits(32)
        print(f"run {run} of {runs}: SEED={seed}", flush=True)
        with _running(command, {"SEED": str(seed)}) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                if named := _NAMED.match(line.rstrip("\n")):
                    state, test = named.groups()
                    seeds = found.setdefault((test, state or "failed"), [])
                    seeds += [seed] if seed not in seeds else []  # a failure is named twice
            ended.append(process.wait())
    return found, ended


@contextmanager
def _running(
    command: Sequence[str], environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command,
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=end_with_parent(signal.SIGTERM),  # noqa: PLW1509  it makes one system call
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                try:
                    process.wait(_END_SECONDS)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
