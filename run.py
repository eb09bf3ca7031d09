"""The entry point of the service. `python run.py --help` lists the settings."""

import signal

if __name__ == "__main__":
    # Ctrl-C while the modules below are imported ends the process silently.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from config import logging
from config.settings import Settings, SettingsError, describe, read
from tracker import __version__
from tracker.multiprocess_metrics import multiprocess_metrics


def main(arguments: Sequence[str]) -> int:
    """Run the service and return the exit code: 0 after a clean stop, 1 if it could not start, 2 if
    a setting is wrong, 130 after Ctrl-C."""
    parsed = _parse(arguments)
    try:
        settings = read(os.environ)
    except SettingsError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    logging.configure(settings)
    # A process with a certificate reloads it at SIGHUP; no process ends.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Means nothing here; a script that sends it to have a release loaded must not end the service.
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        return _check(settings) if parsed.check else _run(parsed.role, settings)
    except KeyboardInterrupt:
        return 130
    finally:
        # The work is done: another Ctrl-C need not wait for Python's own shutdown.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _check(settings: Settings) -> int:
    from tracker.service import roles

    return roles.check(settings)


def _run(role: str, settings: Settings) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    processes = 1 if role == "drain" else settings.web_concurrency
    with multiprocess_metrics(processes) as set_worker:
        with _interrupt_blocked():
            # Imported here, because metrics made on import take the storage that is set by now.
            from tracker.service import roles

        return roles.run(role, settings, set_worker)


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Block SIGINT in the body: an import that is interrupted halfway may raise any error."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run.py",
        description="Short tracking links, clicks and conversions, over HTTP.",
        epilog=f"environment variables:\n{describe()}\n\nexample: PORT=9000 python run.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--role",
        choices=("all", "web", "drain"),
        default="all",
        help="web answers requests, drain moves clicks and events from Redis into MongoDB; "
        "run as many of each as you like; all does both [all]",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="read the settings and load the program, and end: 0 if it could start",
    )
    parser.add_argument("--version", action="version", version=f"tracker {__version__}")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
