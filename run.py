"""The service. `python run.py --help` lists what can be configured."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from config import logging
from config.settings import SettingsError, describe, read
from tracker.counting import counting_in


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 after a clean stop, 1 if it could not start, 2 for a wrong setting."""
    role = _parse(arguments).role
    try:
        settings = read(os.environ)
    except SettingsError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    logging.configure(settings)
    # Whoever has a certificate reads it again then; nobody is to end.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with counting_in(1 if role == "drain" else settings.web_concurrency) as count_as:
        # Not before: metrics are made on import.
        from tracker import roles

        return roles.run(role, settings, count_as)


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
        help="web answers requests, drain moves what was recorded from Redis into MongoDB; "
        "run as many of each as you like; all does both [all]",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
