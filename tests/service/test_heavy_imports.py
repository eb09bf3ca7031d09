"""A process imports no large package before it needs it."""

import subprocess
import sys

import pytest

from tests.paths import ROOT

HEAVY = ("babel", "crawleruseragents", "numpy", "ua_parser_rs")


def imported_after(statements: str) -> set[str]:
    """Return which of HEAVY another process has imported after `statements`."""
    code = f"{statements}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split()).intersection(HEAVY)


@pytest.mark.parametrize(
    ("work", "needed"),
    [
        ("", set()),
        ("import asyncio\nfrom tracker.reports.arrays import load\nasyncio.run(load())", {"numpy"}),
        (
            "from tracker.clicks.user_agent import build_parsers\nbuild_parsers()",
            {"crawleruseragents", "ua_parser_rs"},
        ),
    ],
    ids=["nothing", "reports", "clicks"],
)
def test_a_process_imports_large_packages_at_their_first_use(work: str, needed: set[str]) -> None:
    assert imported_after(f"import tracker.service.roles\n{work}") == needed
