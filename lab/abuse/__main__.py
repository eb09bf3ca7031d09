"""`python -m lab.abuse`: the options, the table and the exit code."""

import argparse
import asyncio
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import uvloop

from config.settings import Settings
from lab.abuse.result import Result, table
from lab.abuse.rows import ROWS, Row
from lab.abuse.run import Abuse, Options
from lab.load.stores import NotDrained
from lab.processes import NotReady
from scripts.command import positive
from tracker.builtin.stores import StoresError, run_stores


async def _run(options: Options, folder: Path, stores: Settings, silent_dns: str) -> Result:
    running = asyncio.current_task()
    assert running is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    return await Abuse(options, folder, stores, silent_dns).run()


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 if every bound was kept, 1 if one was not or none could be tried."""
    parsed = _parser().parse_args(arguments)
    # While the stores start and end; the loop between has a handler of its own.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = Options(parsed.rows, parsed.seconds, parsed.rate)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="abuse-") as folder,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent,
            run_stores(Settings(data_dir=f"{folder}/stores")) as stores,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            silent.bind(("127.0.0.1", 0))
            silent_dns = f"127.0.0.1:{silent.getsockname()[1]}"
            result = runner.run(_run(options, Path(folder), stores, silent_dns))
    except (NotReady, NotDrained, StoresError) as error:
        print(f"abuse: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("abuse: interrupted; every process is ended", file=sys.stderr)
        return 130
    print(table(result))
    return 1 if result.faults() else 0


def _parser() -> argparse.ArgumentParser:
    names = "\n".join(f"  {row.name:12} {row.title}" for row in ROWS)
    parser = argparse.ArgumentParser(
        prog="python -m lab.abuse",
        description="Attacks by strangers and by accounts on a service of its own, while visitors "
        "click beside them: what visitors saw before, during and after each. Exit code 1 if "
        "visitors got an error or waited five times as long, if 20 MB of memory were not given "
        "back, if anything was lost, or if an attacker got what is not allowed.",
        epilog=f"attacks:\n{names}\n\nexample:\n  make abuse ARGS='--rows names,nested-json'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=_rows, default=ROWS, help="names of attacks [all]")
    parser.add_argument("--seconds", type=positive, default=8, help="of each attack [8]")
    parser.add_argument(
        "--rate", type=positive, help="of visitors, requests a second [half of what is sustained]"
    )
    return parser


def _rows(text: str) -> Sequence[Row]:
    known = {row.name: row for row in ROWS}
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"no such attack: {name!r}")
    return [known[name] for name in names]


if __name__ == "__main__":
    sys.exit(main())
