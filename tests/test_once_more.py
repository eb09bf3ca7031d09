"""A failed test is run once more at the end; it must pass then, and be one of few."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.once_more import MOST
from tests.paths import ROOT

ONCE = """
import os, random
from pathlib import Path

import pytest

def fails_once(name):
    "Note a number of the seed and the process; fail at first."
    file = Path(__file__).with_name(name)
    seen = file.read_text() if file.exists() else ""
    file.write_text(f"{seen}{random.random()} {os.getpid()}\\n")
    assert seen, "the first time"

@pytest.fixture
def broken_once():
    fails_once("fixture")
"""


def run(folder: Path, tests: str, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run tests in two processes, with as few plugins as possible."""
    (folder / "test_it.py").write_text(ONCE + tests)
    plugins = ("-p", "xdist", "-p", "pytest_randomly", "-p", "tests.once_more", "-c", os.devnull)
    command = [sys.executable, "-m", "pytest", "-q", *plugins, f"--rootdir={folder}", "-n2"]
    return subprocess.run(
        [*command, *options, str(folder)],
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_passes_alone_with_the_same_seed_is_unsteady(tmp_path: Path) -> None:
    tests = """
def test_passes():
    pass
@pytest.mark.parametrize("name", ["a [::] b"])
def test_fails_once(name):
    fails_once("test")
def test_has_a_fixture(broken_once):
    pass
"""
    done = run(tmp_path, tests)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, first, second, closing = done.stdout.splitlines()
    assert first == "unsteady: test_it.py::test_fails_once[a [::] b]"
    assert second == "unsteady: test_it.py::test_has_a_fixture"
    assert closing.startswith("1 passed, 2 unsteady in ")
    assert "AssertionError: the first time" in done.stdout
    for name in ("test", "fixture"):
        before, again = (line.split() for line in (tmp_path / name).read_text().splitlines())
        assert before[0] == again[0]
        assert before[1] != again[1]


ALWAYS = "def test_fails():\n    fails_once('test')\n    assert False"
MANY = f"@pytest.mark.parametrize('n', range({MOST + 1}))\ndef test_it(n):\n    fails_once(str(n))"
CRASH = "def test_crashes():\n    fails_once('test') if Path('test').exists() else os._exit(1)"
STOPPED = "def test_a():\n    fails_once('a')\ndef test_b():\n    fails_once('b')"


@pytest.mark.parametrize(
    ("tests", "option", "status"),
    [(ALWAYS, "-v", 1), (MANY, "-v", 1), (CRASH, "-v", 1), (STOPPED, "-x", 2)],
    ids=["fails again", "too many", "crash", "stopped"],
)
def test_everything_else_is_a_failure(tmp_path: Path, tests: str, option: str, status: int) -> None:
    done = run(tmp_path, tests, option)
    assert done.returncode == status, done.stdout + done.stderr
    assert ("once more, alone" in done.stdout) == (tests == ALWAYS)
    assert "unsteady" not in done.stdout
