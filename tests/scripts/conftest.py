"""Operators' commands as the processes that operators start."""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from tornado.platform.asyncio import AsyncIOLoop

from tracker.service.services import Services

ROOT = Path(__file__).parent.parent.parent
Awaited = Callable[[Awaitable[Any]], Any]
Ended = subprocess.CompletedProcess[str]
UsageError = Callable[..., str]


class Run:
    """A runner of `python -m scripts.<name> …` against given stores."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def __call__(self, name: str, *arguments: str, **changed: str) -> Ended:
        return subprocess.run(
            [sys.executable, "-m", f"scripts.{name}", *arguments],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **self.environment, **changed},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def rows(self, name: str, *arguments: str) -> list[dict[str, Any]]:
        """Return the rows that a command prints with --json; fail the test if it fails."""
        ended = self(name, "--json", *arguments)
        assert (ended.returncode, ended.stderr) == (0, "")
        rows: list[dict[str, Any]] = orjson.loads(ended.stdout)
        return rows


@pytest.fixture
def run(services: Services) -> Run:
    settings = services.settings
    return Run(
        {
            "REDIS_URL": settings.redis_url,
            "MONGODB_URI": settings.mongodb_uri,
            "MONGODB_DATABASE": settings.mongodb_database,
            "DATA_DIR": settings.data_dir,
        }
    )


@pytest.fixture
def account_id(services: Services, io_loop: AsyncIOLoop) -> str:
    return str(io_loop.run_sync(lambda: services.accounts.create("Acme")).id)


@pytest.fixture
def usage_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> UsageError:
    """Return a function that runs a command with wrong usage and returns its error.

    It runs in this process: no store is reached, and a process costs a second.
    """

    def call(main: Callable[[], None], *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["command", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        assert (ended.value.code, shown.out) == (2, "")
        assert shown.err.startswith("usage: python -m scripts.")
        return shown.err

    return call


@pytest.fixture
def do(io_loop: AsyncIOLoop) -> Awaited:
    """Return a function that awaits something on the loop of the services."""

    def run(awaitable: Awaitable[Any]) -> Any:
        async def wait() -> Any:
            return await awaitable

        return io_loop.run_sync(wait)

    return run
