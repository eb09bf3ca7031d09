"""`make chaos`, short: on a cluster, and killed. `tests/system` has one on single stores."""

from pathlib import Path

from tests.lab.proofs import check_chaos, command, parents, started_by
from tests.waiting import until


def test_nothing_is_lost_or_doubled_in_a_cluster_whatever_each_process_suffers(
    tmp_path: Path,
) -> None:
    check_chaos(tmp_path, "cluster")


def test_the_processes_of_a_run_end_when_the_run_is_killed(tmp_path: Path) -> None:
    with command("chaos", tmp_path, "--seconds 60 --kills 1") as process:
        try:
            # Redis, mongod, web and two drains.
            started = started_by(process.pid, 5)
        finally:
            process.kill()
    until(lambda: not started & parents().keys())
