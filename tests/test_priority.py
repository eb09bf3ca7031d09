"""Giving way, as the kernel tells it of a process that did."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracker.db.child import spawn

LEAST = "19"
"""The niceness of what gives way, of a process and of a session: there is none higher."""

TELL = (
    "import os; "
    "print(os.nice(0), open('/proc/self/autogroup').read().split()[-1], os.sched_getscheduler(0))"
)
GIVE_WAY = "from tracker.priority import give_way; give_way(); "

if not Path("/proc/self/autogroup").exists():
    pytest.skip("no niceness of sessions here", allow_module_level=True)

USUAL, IDLE = str(os.sched_getscheduler(0)), str(os.SCHED_IDLE)
"""How the kernel schedules us, and what may always be put off."""


def run(code: str, start_new_session: bool) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        timeout=20,
        start_new_session=start_new_session,
    )
    return done.stdout.decode().split()


def test_a_process_with_a_session_of_its_own_gives_way_to_those_of_other_sessions() -> None:
    assert run(GIVE_WAY + TELL, True) == [LEAST, LEAST, IDLE]


def test_a_process_that_shares_its_session_leaves_those_of_it_as_they_are() -> None:
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {GIVE_WAY!r}]); "
    assert run(inner + TELL, True) == [str(os.nice(0)), "0", USUAL]


@pytest.mark.parametrize(
    ("gives_way", "told"),
    [(True, [LEAST, LEAST, IDLE]), (False, [str(os.nice(0)), "0", USUAL])],
)
def test_a_program_of_ours_gives_way_before_it_begins(
    tmp_path: Path, gives_way: bool, told: list[str]
) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        child = spawn([sys.executable, "-c", TELL], {}, file, gives_way=gives_way)
    assert child.wait(20) == 0
    assert log.read_text().split() == told
