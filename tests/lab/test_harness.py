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


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    add_rows(made, ROWS, lambda row: {row.key, row.key[0]})
    return made


@pytest.mark.parametrize(
    ("text", "keys"),
    [("a", ["a"]), ("c, a", ["a", "c"]), ("f", ["f1", "f2"]), ("f2,h", ["f2", "h"])],
)
def test_rows_are_chosen_by_their_names(
    parser: argparse.ArgumentParser, text: str, keys: list[str]
) -> None:
    assert [row.key for row in parser.parse_args(["--rows", text]).rows] == keys
    assert parser.parse_args([]).rows == list(ROWS)


@pytest.mark.parametrize("text", ["", "x", "a,,b", "a,f3"])
def test_a_name_of_no_row_is_refused(
    parser: argparse.ArgumentParser, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(["--rows", text])
    assert "no such row" in capsys.readouterr().err
