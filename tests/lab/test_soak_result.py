"""Every fault of a soak is found and reported."""

from typing import Any

import pytest
from msgspec.structs import replace

from lab.process_usage import MAX_GROWTH_BYTES
from lab.result import LoadAudit
from lab.soak import Result

STORED = LoadAudit(requests=3, lost=0, differences=0, ended=[])
PLAIN = Result(clicks=2, events=1, errors={}, unknown=0, growth=MAX_GROWTH_BYTES, audit=STORED)


def test_a_soak_without_faults_reports_none() -> None:
    assert PLAIN.faults() == []
    assert "FAULT" not in PLAIN.table()


def test_a_short_soak_reports_no_growth() -> None:
    short = replace(PLAIN, growth=None)
    assert short.faults() == []
    assert short.table().splitlines()[-1].split()[-1] == "-"


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"errors": {"status 503": 4}}, "4 status 503"),
        ({"unknown": 6}, "6 stored and not answered"),
        ({"unknown": -6}, "-6 stored and not answered"),
        ({"audit": replace(STORED, lost=5)}, "5 answered and not stored"),
        ({"audit": replace(STORED, differences=7)}, "7 figures of reports differ"),
        ({"audit": replace(STORED, ended=["web ended"])}, "web ended"),
        ({"growth": MAX_GROWTH_BYTES + 1}, "the web process grew by 20.0 MB"),
    ],
)
def test_every_fault_of_a_soak_is_reported(changed: dict[str, Any], fault: str) -> None:
    result = replace(PLAIN, **changed)
    assert result.faults() == [fault]
    assert f"FAULT: {fault}" in result.table()
