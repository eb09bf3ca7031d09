"""The plugin that guards a run of the suite: it fails if a process tried to go beyond loopback."""

import contextlib
from typing import Any

import pytest

from lab.loopback.run import guarded

_RUN = pytest.StashKey[contextlib.ExitStack]()
_ATTEMPTED = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    # A worker of xdist inherits the guard of the process that started it.
    config.stash[_RUN] = contextlib.ExitStack()
    config.stash[_ATTEMPTED] = config.stash[_RUN].enter_context(guarded())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run; by now its processes are ended."""
    session.config.stash[_RUN].close()
    if session.config.stash[_ATTEMPTED] and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    attempts = config.stash[_ATTEMPTED]
    if attempts:
        terminalreporter.section("beyond loopback", red=True)
        for attempt in attempts:
            terminalreporter.line(attempt)
