"""Very short runs of `make bench`, `make growth`, `make soak` and `make abuse`: their results, not
their speed."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.bench.sustained import ATTEMPTS
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


def test_rows_and_costs_are_measured_and_everything_is_written(tmp_path: Path) -> None:
    folder, written = tmp_path / "temporary", tmp_path / "result.json"
    folder.mkdir()
    process = script(
        "bench",
        folder,
        "--rounds 1 --seconds 1 --sustained-seconds 1 --connections 8 --client own --rows a,d,m,n "
        f"--cost 100 --json {written}",
    )
    printed, errors = ended(process)
    assert process.returncode == 0, errors
    result = json.loads(written.read_text())
    assert [row["key"] for row in result["rows"]] == ["a", "d", "m", "n"]
    assert all(row["rate"] > 0 and min(row["cpu"].values()) >= 0 for row in result["rows"])
    assert [row["arrival"] is not None for row in result["rows"]] == [False, True, True, False]
    assert len(result["measured"]["tried"]["d"]) == ATTEMPTS
    assert [one[0]["outcome"]["errors"] for one in result["measured"]["full"].values()] == [{}] * 4
    [costs] = result["costs"]
    assert [key for key, *_ in costs["rows"]] == ["d", "m"]
    assert f"bytes of a click that waits in Redis: {costs['waiting']:.0f}\n" in printed
    assert "d sustains at least 4.5 x a" in printed
    assert list(folder.iterdir()) == []


def test_every_figure_of_a_direction_is_measured_and_a_broken_bound_is_an_exit_code(
    tmp_path: Path,
) -> None:
    folder, written = tmp_path / "temporary", tmp_path / "result.json"
    folder.mkdir()
    process = script("growth", folder, f"--rows lists --links 60 --rounds 1 --json {written}")
    printed, errors = ended(process)
    rows = json.loads(written.read_text())["rows"]
    assert [row["key"] for row in rows] == [one.key for one in ROWS if one.direction == "lists"]
    failed = [row["key"] for row in rows if None in (row["small"], row["large"])]
    assert failed == [], printed
    assert process.returncode == int(not all(row["holds"] for row in rows)), errors
    assert list(folder.iterdir()) == []


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
    process = script("soak", tmp_path, "--seconds 3 --rate 200 --connections 8")
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
