"""The plugin that runs failed tests once more: at the end, alone, with the seed of the run.

Only a run in several processes (`-n`) does so; its second run is none. A test that passes then is
unsteady: the run passes, and its last lines name it.
"""

import subprocess
import sys
from typing import Final

import pytest

MOST: Final = 5
"""With more failures than this the cause is not one test."""

UNSTEADY: Final = "unsteady"
_PHASES: Final = ("setup", "call", "teardown")
"""Of a test. A crashed process and a module that cannot be collected report others."""


# After xdist has ended its processes.
@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    is_parallel = config.getoption("numprocesses", None)
    if session.exitstatus != pytest.ExitCode.TESTS_FAILED or not is_parallel:
        return
    stats = _reporter(config).stats
    reports = [*stats.get("failed", ()), *stats.get("error", ())]
    failed = sorted({report.nodeid for report in reports})
    is_stopped = session.shouldfail or session.shouldstop  # for one, by -x
    if is_stopped or len(failed) > MOST or any(one.when not in _PHASES for one in reports):
        return
    if _pass_alone(config, failed):
        stats.pop("failed", None)
        stats.pop("error", None)
        stats[UNSTEADY] = reports
        session.exitstatus = pytest.ExitCode.OK


def _pass_alone(config: pytest.Config, failed: list[str]) -> bool:
    """Run tests once more in one new process, with the options of this run."""
    reporter = _reporter(config)
    reporter.write_line(f"\nonce more, alone: {len(failed)} of the tests")
    reporter.flush()
    options = [one for one in config.invocation_params.args if one not in config.args]
    seed = config.getoption("randomly_seed", None)
    order = [] if seed is None else [f"--randomly-seed={seed}"]
    tests = [str(config.rootpath / nodeid) for nodeid in failed]
    command = [sys.executable, "-m", "pytest", *options, "-n", "0", *order, *tests]
    return subprocess.run(command, check=False).returncode == pytest.ExitCode.OK


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show how unsteady tests failed, and name them last."""
    reports = terminalreporter.stats.get(UNSTEADY, [])
    for report in reports:
        terminalreporter.section(f"{report.nodeid} ({report.when})")
        terminalreporter.write_line(report.longreprtext)
        for title, text in report.sections:
            terminalreporter.write_line(f"{title}:\n{text}")
    for nodeid in sorted({report.nodeid for report in reports}):
        # Without colour: `.ci/run` and `make steady` look for it.
        terminalreporter.write_line(f"{UNSTEADY}: {nodeid}")


def _reporter(config: pytest.Config) -> pytest.TerminalReporter:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    assert isinstance(reporter, pytest.TerminalReporter)
    return reporter
