"""`make chaos`, short: on a cluster, interrupted, killed. The suite has one on single stores."""

import signal
from pathlib import Path

import pytest

from tests.lab.chaos_run import chaos, check_run, parents, wait_until_all_started
from tests.system.service import START_SECONDS
from tests.waiting import until


def test_nothing_is_lost_or_doubled_in_a_cluster_whatever_each_process_suffers(
    tmp_path: Path,
) -> None:
    check_run(tmp_path, "cluster")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_every_process(tmp_path: Path, number: signal.Signals) -> None:
    with chaos(tmp_path, "--seconds", "60", "--kills", "0") as process:
        try:
            started = wait_until_all_started(process.pid)
            process.send_signal(number)
            assert process.wait(START_SECONDS) == 130
        finally:
            process.kill()
    assert not started & parents().keys()
    assert list(tmp_path.iterdir()) == []


def test_the_processes_of_a_run_end_when_the_run_is_killed(tmp_path: Path) -> None:
    with chaos(tmp_path, "--seconds", "60", "--kills", "0") as process:
        try:
            started = wait_until_all_started(process.pid)
        finally:
            process.kill()
    until(lambda: not started & parents().keys())
