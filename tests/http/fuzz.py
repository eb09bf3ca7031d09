"""A fuzzer of connections: atheris (libFuzzer) looks for input that breaks invariants of `wild`.

    python -m tests.http.fuzz -max_total_time=300
    python -m tests.http.fuzz <file>              run one input again

`make fuzz` runs it for five minutes. It takes the options of libFuzzer and begins with the requests
of the conformance table. Input that breaks an invariant is kept in a file, whose name is printed.
"""

import asyncio
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

from lab.loopback.run import loopback_only

# What is imported here is what the fuzzer sees. The fields of a head are read by httptools, in C.
with atheris.instrument_imports(include=["tracker"]):
    from tests.http.conformance import ROWS
    from tests.http.wild import check_plain, requests_seen

LOOP = asyncio.new_event_loop()


def one(data: bytes) -> None:
    """Check the bytes behind the first, which chooses where they are cut, and the fast path."""
    if len(data) < 2:
        return
    choice, raw = data[0], data[1:]
    at = choice * len(raw) // 256
    with_fast_path = choice % 2 == 1
    check_plain(raw)
    whole = LOOP.run_until_complete(requests_seen([raw], with_fast_path=with_fast_path))
    parts = [raw[:at], raw[at:]] if at else [raw]
    assert LOOP.run_until_complete(requests_seen(parts, with_fast_path=with_fast_path)) == whole
    LOOP.run_until_complete(requests_seen([raw[:at]], lost=True, with_fast_path=with_fast_path))


def fuzz(arguments: Sequence[str]) -> None:
    """Fuzz until libFuzzer ends the process."""
    asyncio.set_event_loop(LOOP)
    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def run(arguments: Sequence[str]) -> int:
    """Fuzz in a child process, which libFuzzer ends; return its exit code."""
    fuzzing = get_context("fork").Process(target=fuzz, args=(arguments,))
    fuzzing.start()
    fuzzing.join()
    return fuzzing.exitcode or 0


def write_seeds(folder: Path) -> None:
    """Write the requests of the conformance table, each with another first byte."""
    folder.mkdir()
    for number, row in enumerate(ROWS):
        (folder / str(number)).write_bytes(bytes([number % 256]) + row.raw)


def main(arguments: Sequence[str]) -> int:
    """Return 0 if no invariant was broken."""
    if not all(argument.startswith("-") for argument in arguments):
        return run(arguments)
    with loopback_only("fuzz"), TemporaryDirectory(prefix="fuzz-") as folder:
        corpus, seeds = Path(folder, "corpus"), Path(folder, "seeds")
        corpus.mkdir()
        write_seeds(seeds)
        return run([*arguments, str(corpus), str(seeds)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
