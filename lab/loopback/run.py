"""A guarded run: it fails if one of its processes tried to go beyond loopback."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.loopback.guard import ATTEMPTS, install, variables


@contextmanager
def guarded() -> Iterator[list[str]]:
    """Guard this process, and yield a list that gets the attempts when the context is left.

    Within another guarded run the list stays empty: that run fails for them.
    """
    attempts: list[str] = []
    install()
    if os.environ.get(ATTEMPTS):
        yield attempts
        return
    with tempfile.TemporaryDirectory(prefix="loopback-") as folder:
        file = Path(folder) / "attempts"
        try:
            with _environment(variables(file)):
                yield attempts
        finally:
            attempts += read(file)


@contextmanager
def loopback_only(name: str) -> Iterator[None]:
    """Guard a command: it exits with code 1 at its end if there was an attempt."""
    attempts: list[str] = []
    try:
        with guarded() as attempts:
            yield
    finally:
        for attempt in attempts:
            print(f"{name}: tried to go beyond loopback: {attempt}", file=sys.stderr)
        if attempts:
            raise SystemExit(1)


def read(attempts: Path) -> list[str]:
    return attempts.read_text(encoding="utf-8").splitlines() if attempts.exists() else []


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
