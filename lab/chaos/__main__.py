"""`python -m lab.chaos`: the options, the progress, the table and the exit code."""

import argparse
import asyncio
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import orjson
import uvloop

from lab.chaos.proof import Options, Proof
from lab.chaos.result import Result
from lab.processes import NotReady
from scripts.command import positive
from scripts.progress import Line
from tracker.builtin.binaries import StoresError

_SECONDS_EACH: Final = 8


async def _run(options: Options, folder: Path, line: Line) -> Result:
    running = asyncio.current_task()
    assert running is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    return await Proof(options, folder, line.say).run()


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 if the promise was kept, 1 if not, or if it could not be tried."""
    parsed = _parser().parse_args(arguments)
    seed = random.randrange(1_000_000) if parsed.seed is None else parsed.seed  # noqa: S311
    count = parsed.seconds // _SECONDS_EACH if parsed.kills is None else parsed.kills
    options = Options(parsed.seconds, count, seed, parsed.rate, parsed.drains, parsed.appendfsync)
    folder, line = Path(tempfile.mkdtemp(prefix="chaos-")), Line()
    result = None
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            result = runner.run(_run(options, folder, line))
    except (NotReady, StoresError) as error:
        print(f"chaos: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("chaos: interrupted; every process is ended", file=sys.stderr)
        return 130
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
        print("FAILED" if faults else "kept: answered is stored and counted, exactly once")
    if faults:
        print(f"logs and stores are in {folder}", file=sys.stderr)
    return 1 if faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab.chaos",
        description="Kill and stop the service and its stores under load, again and again, and "
        "compare what was answered with what is stored and counted. Exit code 1 if anything was "
        "lost, doubled or counted wrongly.",
        epilog="example:\n  make chaos ARGS='--seconds 60 --seed 7'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=positive, default=180, help="how long [180]")
    parser.add_argument(
        "--kills",
        type=_count,
        metavar="N",
        help="how many disturbances: kills and stops of web, drain, redis and mongod, about as "
        f"many of each [one in {_SECONDS_EACH} seconds]",
    )
    parser.add_argument("--seed", type=int, help="the same seed has the same schedule [random]")
    parser.add_argument("--rate", type=positive, default=400, help="requests a second [400]")
    parser.add_argument(
        "--drains", type=positive, default=2, help="drain processes; with two, one takes over [2]"
    )
    parser.add_argument(
        "--appendfsync",
        choices=("always", "everysec"),
        default="always",
        help="how Redis flushes its journal; with everysec it acknowledges what it has not written "
        "while a flush is under way, so that a kill can lose it [always]",
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
