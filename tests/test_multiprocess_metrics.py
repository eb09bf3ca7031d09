"""Metrics of several processes add up, also those of processes that have ended."""

import subprocess
import sys
from pathlib import Path

from tests.paths import ROOT
from tests.waiting import PROCESS_PATIENCE_SECONDS

# A process of its own, because metrics are made on import, once.
PROGRAM = """
import os, sys, tempfile
from pathlib import Path
from tracker.multiprocess_metrics import multiprocess_metrics

with multiprocess_metrics(int(sys.argv[1])) as set_worker:
    from tracker.metrics import JOURNAL_DEPTH, exposition, requests

    def process(number, requests_answered, depth):
        pid = os.fork()
        if pid == 0:
            set_worker(number)
            for _ in range(requests_answered):
                requests("/healthz", "GET", 200).inc()
            JOURNAL_DEPTH.set(depth)
            os._exit(0)
        os.waitpid(pid, 0)

    process(0, 3, 30)
    process(1, 4, 40)
    process(0, 5, 50)
    print(exposition().decode())
    print("folders", len(list(Path(tempfile.gettempdir()).iterdir())))
print("folders", len(list(Path(tempfile.gettempdir()).iterdir())))
"""


def test_counters_add_up_over_processes_and_their_replacements(tmp_path: Path) -> None:
    lines = printed("2", tmp_path)
    assert 'tracker_requests_total{method="GET",route="/healthz",status="200"} 12.0' in lines
    assert "tracker_journal_entries 50.0" in lines
    assert "# HELP tracker_requests_total Requests answered." in lines
    assert lines[-2:] == ["folders 1", "folders 0"]


def test_a_single_process_counts_in_memory(tmp_path: Path) -> None:
    lines = printed("1", tmp_path)
    counted = [line for line in lines if line.startswith("tracker_requests_total{")]
    assert counted and all(line.endswith(" 0.0") for line in counted)
    assert "tracker_journal_entries 0.0" in lines
    assert lines[-2:] == ["folders 0", "folders 0"]


def printed(processes: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, processes],
        cwd=ROOT,
        env={"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if line]
