"""Operators' commands with the settings, the output and the exit codes that operators see."""

import contextlib
import importlib
import io
import logging
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from pymongo import MongoClient
from pymongo.database import Database
from tornado.platform.asyncio import AsyncIOLoop

from tests.waiting import PROCESS_PATIENCE_SECONDS
from tracker.service.services import Services

ROOT = Path(__file__).parent.parent.parent
Awaited = Callable[[Awaitable[Any]], Any]
Stored = Database[dict[str, Any]]
Ended = subprocess.CompletedProcess[str]


class Run:
    """A runner of `python -m scripts.<name> …` against given stores.

    A call runs the command in this process, because one of its own costs a second.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def __call__(self, name: str, *arguments: str, **changed: str) -> Ended:
        command = [f"scripts.{name}", *arguments]
        main: Callable[[], None] = importlib.import_module(command[0]).main
        with self._as_a_process(command, changed) as (output, errors), ThreadPoolExecutor(1) as own:
            # In a thread of its own, because the loop of the services is the current one here.
            code = own.submit(_exit_code, main).result()
        return Ended(command, code, output.getvalue(), errors.getvalue())

    def process(self, name: str, *arguments: str) -> Ended:
        """Run the command as a process."""
        return subprocess.run(
            [sys.executable, "-m", f"scripts.{name}", *arguments],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **self.environment},
            capture_output=True,
            text=True,
            timeout=PROCESS_PATIENCE_SECONDS,
            check=False,
        )

    @contextlib.contextmanager
    def _as_a_process(
        self, command: list[str], changed: dict[str, str]
    ) -> Iterator[tuple[io.StringIO, io.StringIO]]:
        """Yield what is printed, to either output, with the variables of a process alone."""
        variables = {"PATH": os.environ["PATH"], **self.environment, **changed}
        root = logging.getLogger()
        before = root.handlers[:], root.level
        output, errors = io.StringIO(), io.StringIO()
        try:
            with (
                patch.dict(os.environ, variables, clear=True),
                patch.object(sys, "argv", command),
                contextlib.redirect_stdout(output),
                contextlib.redirect_stderr(errors),
            ):
                yield output, errors
        finally:
            root.handlers[:] = before[0]
            root.setLevel(before[1])

    def rows(self, name: str, *arguments: str) -> list[dict[str, Any]]:
        """Return the rows that a command prints with --json; fail the test if it fails."""
        ended = self(name, "--json", *arguments)
        assert (ended.returncode, ended.stderr) == (0, "")
        rows: list[dict[str, Any]] = orjson.loads(ended.stdout)
        return rows


def _exit_code(main: Callable[[], None]) -> int:
    """Return the exit code of a process that would call `main`."""
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


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
    return str(io_loop.run_sync(lambda: services.accounts.accounts.create("Acme")).id)


@pytest.fixture
def do(io_loop: AsyncIOLoop) -> Awaited:
    """Return a function that awaits something on the loop of the services."""

    def run(awaitable: Awaitable[Any]) -> Any:
        async def wait() -> Any:
            return await awaitable

        return io_loop.run_sync(wait)

    return run


@pytest.fixture
def database(services: Services, mongodb: MongoClient[dict[str, Any]]) -> Stored:
    return mongodb[services.settings.mongodb_database]
