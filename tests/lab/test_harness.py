"""What the commands of the lab have in common: the choice of rows, and where a log goes."""

import argparse
import subprocess
import sys

import pytest

from lab.bench.rows import ROWS
from lab.harness import add_rows
from tests.paths import ROOT

RUN = """
import structlog
from lab.harness import failures_reported
with failures_reported("proof"):
    structlog.get_logger("tracker.noticed").warning("noticed", server="127.0.0.1:1")
    print("the result")
"""


def test_what_a_run_logs_is_not_in_its_output() -> None:
    run = subprocess.run(
        [sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == "the result\n"
    assert "noticed" in run.stderr


def chosen(text: str) -> list[str]:
    parser = argparse.ArgumentParser()
    add_rows(parser, ROWS, lambda row: {row.key, row.key[0]})
    return [row.key for row in parser.parse_args(["--rows", text]).rows]


def test_rows_are_chosen_by_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert chosen("f, a") == ["a", "f1", "f2"]
    for text in ("", "a,f3"):
        with pytest.raises(SystemExit):
            chosen(text)
        assert "no such row" in capsys.readouterr().err
