"""Very short runs of `make bench`, `make growth` and `make abuse`: results, not speed."""

import re
import signal
from pathlib import Path

import pytest

from lab.growth.rows import ROWS
from tests.lab.proofs import command, output, parents, started_by
from tests.system.service import START_SECONDS


def test_every_row_is_measured_and_its_costs(tmp_path: Path) -> None:
    short = "--rounds 1 --seconds 1 --sustained-seconds 1 --client own"
    printed = output(command("bench", tmp_path, f"{short} --rows a,d,m,n --cost 100"))
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
    process = command("growth", tmp_path, "--rows lists --links 60 --rounds 1")
    printed = output(process, succeeds=False)
    _, _, *rows = printed.splitlines()
    assert [row.split()[0] for row in rows] == [one.key for one in ROWS if one.direction == "lists"]
    assert [row for row in rows if re.search(r"  (-|failed)  ", row)] == []
    assert process.returncode == int("DOES NOT HOLD" in printed)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["bench", "growth", "abuse", "chaos"])
def test_an_interrupt_ends_every_process(tmp_path: Path, name: str) -> None:
    arguments = {
        "bench": "--seconds 60 --rows c --client own",
        "growth": "--rows lists --links 60 --rounds 10000",
        "abuse": "--seconds 60 --rate 50",
        "chaos": "--seconds 60 --kills 1",
    }
    with command(name, tmp_path, arguments[name]) as process:
        try:
            # Redis, mongod, web and drain; two drains of chaos.
            started = started_by(process.pid, 4 + (name == "chaos"))
            process.send_signal(signal.SIGINT if name == "bench" else signal.SIGTERM)
            assert process.wait(START_SECONDS) == 130
        finally:
            process.kill()
    assert not started & parents().keys()
    assert list(tmp_path.iterdir()) == []


def test_attacks_cause_visitors_no_errors(tmp_path: Path) -> None:
    process = command("abuse", tmp_path, "--seconds 1 --rate 50 --rows none,loop,log")
    printed = output(process, succeeds=False)
    faults = re.findall("^FAULT.*", printed, re.MULTILINE)
    assert [one for one in faults if "p99" not in one] == []
    assert "400 x 100, creation 400 x 1" in printed
    assert list(tmp_path.iterdir()) == []
