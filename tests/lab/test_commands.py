"""Very short runs of `make bench`, `make growth`, `make soak` and `make abuse`: their results, not
their speed."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.growth.rows import ROWS
from tests.lab.chaos_run import children, parents
from tests.paths import ROOT
from tests.system.service import START_SECONDS, environment
from tests.waiting import until

TIMEOUT_SECONDS = 500
"""A little less than the suite's own timeout for a test."""


def script(name: str, folder: Path, arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", f"lab.{name}", *arguments.split()],
        cwd=ROOT,
        env=environment(TMPDIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Wait for the process to end; return its output and its errors."""
    with process:
        try:
            return process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            process.kill()


def test_every_row_is_measured_and_its_costs(tmp_path: Path) -> None:
    process = script(
        "bench",
        tmp_path,
        "--rounds 1 --seconds 1 --sustained-seconds 1 --client own --rows a,d,m,n --cost 100",
    )
    printed, errors = ended(process)
    assert process.returncode == 0, errors
    for process_name, keys in {"tornado": "a", "all": "d", "web": "mn"}.items():
        assert re.findall(rf"^(\w) .* {process_name}$", printed, re.MULTILINE) == [*keys]
    assert re.findall(r"^(\w) +landed two seconds", printed, re.MULTILINE) == ["d", "m"]
    assert re.findall(r"^(\w), 1,000 links: [1-9]", printed, re.MULTILINE) == ["d", "m"]
    assert re.search(r"^bytes of a click that waits in Redis: [1-9]", printed, re.MULTILINE)
    assert "d sustains at least 4.5 x a" in printed
    assert list(tmp_path.iterdir()) == []


def test_every_figure_of_a_direction_is_measured_and_a_broken_bound_is_an_exit_code(
    tmp_path: Path,
) -> None:
    process = script("growth", tmp_path, "--rows lists --links 60 --rounds 1")
    printed, errors = ended(process)
    _, _, *rows = printed.splitlines()
    assert [row.split()[0] for row in rows] == [one.key for one in ROWS if one.direction == "lists"]
    assert [row for row in rows if re.search(r"  (-|failed)  ", row)] == []
    assert process.returncode == int("DOES NOT HOLD" in printed), errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["bench", "growth", "soak", "abuse", "chaos"])
def test_an_interrupt_ends_every_process(tmp_path: Path, name: str) -> None:
    arguments = {
        "bench": "--seconds 60 --rows c --client own",
        "growth": "--rows lists --links 60 --rounds 10000",
        "soak": "--seconds 60 --rate 50",
        "abuse": "--seconds 60 --rate 50",
        "chaos": "--seconds 60 --kills 0 --drains 1",
    }
    with script(name, tmp_path, arguments[name]) as process:
        try:
            # Redis, mongod, web and drain.
            until(lambda: len(children(process.pid)) == 4)
            started = children(process.pid)
            process.send_signal(signal.SIGINT if name == "bench" else signal.SIGTERM)
            assert process.wait(START_SECONDS) == 130
        finally:
            process.kill()
    assert not started & parents().keys()
    assert list(tmp_path.iterdir()) == []


def test_after_a_soak_every_answered_record_is_stored_and_counted(tmp_path: Path) -> None:
    process = script("soak", tmp_path, "--seconds 3 --rate 200")
    printed, errors = ended(process)
    assert process.returncode == 0, printed + errors
    shown = {line[:-12].strip(): line[-12:].strip() for line in printed.splitlines()}
    assert shown["requests answered"] == "600"
    assert (shown["errors"], shown["answered and not stored"]) == ("0", "0")
    assert list(tmp_path.iterdir()) == []


def test_attacks_cause_visitors_no_errors(tmp_path: Path) -> None:
    process = script("abuse", tmp_path, "--seconds 1 --rate 50 --rows loop,log")
    printed, errors = ended(process)
    faults = [
        line for line in printed.splitlines() if line.startswith("FAULT") and "p99" not in line
    ]
    assert faults == [], errors
    assert "400 x 100, creation 400 x 1" in printed
    assert list(tmp_path.iterdir()) == []
