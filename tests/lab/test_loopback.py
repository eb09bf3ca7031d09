"""The guard of the suite and the lab: no process of a run goes beyond loopback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab.loopback.guard import ATTEMPTS, variables
from lab.loopback.run import read
from tests.lab.going_beyond import CONNECT, WAYS, WAYS_ON_A_LOOP
from tests.paths import ROOT
from tests.waiting import PROCESS_PATIENCE_SECONDS

BEYOND = re.compile(r"(192\.0\.2\.1|::ffff:192\.0\.2\.1|name\.example)\W")
ALL = [*WAYS, *(f"{name} on a loop" for name in WAYS_ON_A_LOOP)]


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the attempts of a guarded program, by way."""
    folder = tmp_path_factory.mktemp("attempts")
    done = subprocess.run(
        [sys.executable, "-m", "tests.lab.going_beyond", request.param, str(folder)],
        cwd=ROOT,
        env=os.environ | variables(folder / "other"),
        capture_output=True,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
        check=False,
    )
    # It prints the ways that did not fail.
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return folder


def test_a_process_reaches_nothing_beyond_loopback(tried: Path) -> None:
    for way in ALL:
        attempts = read(tried / way)
        assert attempts, way
        assert all(map(BEYOND.match, attempts)), attempts


def test_an_attempt_names_process_line_and_test(tmp_path: Path) -> None:
    attempts = tmp_path / "attempts"
    (tmp_path / "script.py").write_text(f"\n{CONNECT}")
    command = [sys.executable, str(tmp_path / "script.py")]
    ended = subprocess.run(command, env=os.environ | variables(attempts), stderr=-3, check=False)
    [line] = read(attempts)
    assert ended.returncode == 1
    where, program, place, test = line.split(" | ")
    assert (where, place) == ("192.0.2.1:80", f"{tmp_path}/script.py:2")
    assert program.startswith(" ".join(command))
    assert "test_an_attempt_names_process_line_and_test" in test


def test_loopback_and_addresses_that_nobody_is_asked_for_are_allowed(tmp_path: Path) -> None:
    attempts = tmp_path / "attempts"
    script = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
for name in ("localhost", "127.0.0.1", "::1", "192.0.2.1", None):
    socket.getaddrinfo(name, 80)
for name in ("name.invalid", "a..b", "a" * 64):
    try:
        socket.getaddrinfo(name, 80)
    except (socket.gaierror, UnicodeError):
        continue
    raise AssertionError(name)
try:
    socket.getaddrinfo("name.example", 80, flags=socket.AI_NUMERICHOST)
except socket.gaierror:
    pass
"""
    environment = os.environ | variables(attempts)
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    assert read(attempts) == []


SUITE = f"""
def test_that_swallows_the_error():
    try:
        exec({CONNECT!r})
    except OSError:
        pass
"""
COMMAND = f"""
from lab.harness import failures_reported
with failures_reported("proof"):
    try:
        exec({CONNECT!r})
    except OSError:
        print("swallowed")
"""


OF_ITS_OWN = {ATTEMPTS: ""}
"""The variable of a run that is not a part of this one."""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_run_of_the_suite_fails_for_an_attempt_whose_error_was_swallowed(
    tmp_path: Path, workers: str
) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    options = ("-p", "tests.loopback_only", "-c", os.devnull, f"--rootdir={tmp_path}", "-n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, workers, str(tmp_path / "test_it.py")],
        cwd=ROOT,
        env=os.environ | OF_ITS_OWN,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "192.0.2.1:80 | " in done.stdout
    assert "test_it.py::test_that_swallows_the_error" in done.stdout


def test_a_command_of_the_lab_fails_for_an_attempt_whose_error_was_swallowed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        cwd=ROOT,
        env=os.environ | OF_ITS_OWN,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "swallowed\n"), done.stderr
    assert done.stderr.startswith("proof: tried to go beyond loopback: 192.0.2.1:80 | ")


def verbs() -> list[str]:
    """Return the modules that the Makefile runs, but for those that fetch packages."""
    makefile = (ROOT / "Makefile").read_text()
    modules = {*re.findall(r"-m ((?:lab|tests)\.[\w.]+)", makefile)}
    return sorted(modules - {"tests.console.chromium", "lab.javascript", "lab.npm"})


@pytest.mark.parametrize("module", verbs())
def test_every_command_of_the_makefile_is_guarded(module: str) -> None:
    path = ROOT.joinpath(*module.split("."))
    file = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    text = file.read_text()
    guarding = ("on_own_stores(", "with failures_reported(", "with loopback_only(")
    assert any(one in text for one in guarding)
