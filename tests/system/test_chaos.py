"""A short `make chaos`: whichever process is killed, every answer is stored and counted once."""

from pathlib import Path

from tests.lab.proofs import check_chaos


def test_nothing_is_lost_or_doubled_whatever_each_process_suffers(tmp_path: Path) -> None:
    check_chaos(tmp_path, "single")
