"""Every fault of a soak is seen and told."""

from typing import Any

import msgspec
import pytest

from lab.processes import MAX_GROWTH_BYTES
from lab.soak import Result

PLAIN = Result(
    requests=3,
    clicks=2,
    events=1,
    errors={},
    lost=0,
    unknown=0,
    differences=0,
    ended=[],
    growth=MAX_GROWTH_BYTES,
)


def test_nothing_is_wrong_where_nothing_is() -> None:
    assert PLAIN.faults() == []
    assert "FAULT" not in PLAIN.table()


def test_a_short_run_does_not_tell_of_growth() -> None:
    short = msgspec.structs.replace(PLAIN, growth=None)
    assert short.faults() == []
    assert short.table().splitlines()[-1].split()[-1] == "-"


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"errors": {"status 503": 4}}, "4 status 503"),
        ({"lost": 5}, "5 answered and not stored"),
        ({"unknown": 6}, "6 stored and not answered"),
        ({"unknown": -6}, "-6 stored and not answered"),
        ({"differences": 7}, "7 figures of reports differ"),
        ({"ended": ["web ended"]}, "web ended"),
        ({"growth": MAX_GROWTH_BYTES + 1}, "the web process grew by 20.0 MB"),
    ],
)
def test_a_fault_is_told(changed: dict[str, Any], fault: str) -> None:
    result = msgspec.structs.replace(PLAIN, **changed)
    assert result.faults() == [fault]
    assert f"FAULT: {fault}" in result.table()
