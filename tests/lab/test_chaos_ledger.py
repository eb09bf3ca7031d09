"""The waits in the ledger of `make chaos`."""

import pytest

from lab.chaos.traffic import Wait, longest_apart_from


@pytest.mark.parametrize(
    ("spans", "longest"),
    [
        ([], 5.0),
        ([(100.0, 200.0)], 5.0),
        ([(11.0, 12.0)], 2.0),  # within the longest
        ([(14.0, 19.0)], 2.0),  # its end
        ([(9.0, 11.0)], 2.0),  # its beginning
        ([(0.0, 50.0)], 0.0),
        ([(11.0, 12.0), (20.5, 20.6)], 0.0),
    ],
)
def test_the_longest_wait_leaves_out_those_that_a_span_touches(
    spans: list[tuple[float, float]], longest: float
) -> None:
    waits = [Wait(10.0, 5.0), Wait(20.0, 2.0)]
    assert longest_apart_from(waits, spans) == longest
