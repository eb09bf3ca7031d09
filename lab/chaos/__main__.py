"""`python -m lab.chaos`: the options, the progress, the table and the exit code."""

import argparse
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import orjson

from lab.chaos.proof import Options, Proof
from lab.chaos.result import Result
from lab.harness import failures_reported, run_loop
from lab.result import exit_code
from scripts.command import positive
from scripts.progress import Line

_SECONDS_EACH: Final = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 if every promise was kept, else 1.

    Raises SystemExit if the service cannot be measured.
    """
    parsed = _parser().parse_args(arguments)
    seed = random.randrange(1_000_000) if parsed.seed is None else parsed.seed  # noqa: S311
    count = parsed.seconds // _SECONDS_EACH if parsed.kills is None else parsed.kills
    options = Options(parsed.seconds, count, seed, parsed.rate, parsed.drains, parsed.appendfsync)
    folder, line = Path(tempfile.mkdtemp(prefix="chaos-")), Line()
    result = None
    try:
        with failures_reported("chaos"):
            result = run_loop(lambda: Proof(options, folder, line.say).run())
    finally:
        line.end()
        if result is None or not result.faults():
            shutil.rmtree(folder, ignore_errors=True)
    return _report(result, parsed.json, folder)


def _report(result: Result, as_json: bool, folder: Path) -> int:
    faults = result.faults()
    if as_json:
        row = msgspec.to_builtins(result) | {"faults": faults}
        print(orjson.dumps(row, option=orjson.OPT_INDENT_2).decode())
    else:
        print(result.table())
        print("FAILED" if faults else "kept: what was answered is stored and counted, exactly once")
    if faults:
        print(f"logs and stores are in {folder}", file=sys.stderr)
    return exit_code(faults)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab.chaos",
        description="Kill and stop the service and its stores under load, again and again, and "
        "compare what was answered with what is stored and counted. Exit code 1 if anything was "
        "lost, doubled or counted wrongly.",
        epilog="example:\n  make chaos ARGS='--seconds 60 --seed 7'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=positive, default=180, help="seconds of load [180]")
    parser.add_argument(
        "--kills",
        type=_count,
        metavar="N",
        help="number of disturbances: kills and stops of web, drain, redis and mongod, about as "
        f"many of each [one in {_SECONDS_EACH} seconds]",
    )
    parser.add_argument("--seed", type=int, help="number that decides the schedule [random]")
    parser.add_argument("--rate", type=positive, default=400, help="requests a second [400]")
    parser.add_argument(
        "--drains", type=positive, default=2, help="drain processes; one takes over another's [2]"
    )
    parser.add_argument(
        "--appendfsync",
        choices=("always", "everysec"),
        default="always",
        help="how Redis flushes its journal; with everysec it acknowledges writes that it has not "
        "flushed yet, so that a kill can lose them [always]",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("0 or more")
    return number


if __name__ == "__main__":
    sys.exit(main())
