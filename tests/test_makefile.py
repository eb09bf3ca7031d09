"""`make run` installs the packages of a trial; other verbs add those of the tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT


def commands(verb: str, environment: Path) -> str:
    """Return the commands that make would run, with `environment` as its virtual environment."""
    shown = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", verb, f"VENV={environment}"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout


def installed(verb: str, environment: Path) -> list[str]:
    return re.findall(r"pip install .*-r (\S+)", commands(verb, environment))


def test_run_installs_a_trial_and_test_adds_the_rest(tmp_path: Path) -> None:
    assert installed("run", tmp_path) == ["requirements-trial.txt"]
    assert installed("test", tmp_path) == ["requirements-trial.txt", "requirements-dev.txt"]


def test_run_and_test_install_nothing_twice_in_either_order(tmp_path: Path) -> None:
    (tmp_path / "trial").touch()
    assert installed("run", tmp_path) == []
    assert installed("test", tmp_path) == ["requirements-dev.txt"]
    (tmp_path / "ready").touch()
    assert installed("run", tmp_path) == []
    assert installed("test", tmp_path) == []


def test_what_a_commit_leaves_out_is_run_by_ci(tmp_path: Path) -> None:
    commit = commands("test", tmp_path).splitlines()[-1]
    oldest, newest = commands("test-all", tmp_path).splitlines()[-2:]
    ignored, option = [], r" --ignore=(\S+)"
    for command in (commit, oldest):
        ignored += re.findall(option, command)
        # Nothing else is left out.
        assert re.sub(option, "", command).rstrip().endswith("--redis lowest")
    assert {*re.findall(option, oldest)} <= {*newest.split()}
    paths = re.findall(r" (tests/\S+)", newest)
    assert [one for one in ignored + paths if not (ROOT / one).exists()] == []
    assert "make test-all" in (ROOT / ".ci/run").read_text()


def test_a_path_that_does_not_exist_is_named() -> None:
    command = [sys.executable, "-m", "pytest", "-n", "1", "a/wrong/path"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no such file or folder: a/wrong/path" in done.stderr


def test_the_pre_commit_hooks_run_the_commands_of_lint(tmp_path: Path) -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    shown = commands("lint", tmp_path).replace(f"{tmp_path}/bin/", "")
    checks = ("ruff", "mypy", "python -m lab")
    linters = [line for line in shown.splitlines() if line.startswith(checks)]
    assert re.findall(r"entry: \.venv/bin/(.*)", hooks) == linters
