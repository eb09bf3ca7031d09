"""`make chaos`, short: on a cluster, interrupted, killed. The suite has one on single stores."""

from pathlib import Path

from tests.lab.chaos_run import chaos, check_run, parents, wait_until_all_started
from tests.waiting import until


def test_nothing_is_lost_or_doubled_in_a_cluster_whatever_each_process_suffers(
    tmp_path: Path,
) -> None:
    check_run(tmp_path, "cluster")


def test_the_processes_of_a_run_end_when_the_run_is_killed(tmp_path: Path) -> None:
    with chaos(tmp_path, "--seconds", "60", "--kills", "0") as process:
        try:
            started = wait_until_all_started(process.pid)
        finally:
            process.kill()
    until(lambda: not started & parents().keys())
