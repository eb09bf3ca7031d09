"""The rest after a batch, by the batches before it."""

from collections.abc import Sequence

import pytest

from tracker.ingest.pace import Pace

RESTS = {
    "no batch": ([], 100.0, 0.0),
    "a lone batch": ([(100.0, 100.01)], 100.01, 0.01),
    "a few after a quiet time": ([(100.0, 100.0)] * 3, 100.0, 0.0),
    "more of them": ([(100.0, 100.0)] * 4, 100.0, 0.4),
    "a steady batch": ([(100.0, 100.0)] * 4 + [(100.4, 100.41)], 100.41, 0.39),
    "steady batches, then a quiet time": ([(100.0, 100.0)] * 9 + [(110.0, 110.0)], 110.0, 0.0),
    "a long batch": ([(100.0, 100.3)], 100.3, 0.3),
    "a very long batch": ([(100.0, 109.0)], 109.0, 0.5),
    "a rest that is over": ([(100.0, 100.3)], 101.0, 0.0),
}


@pytest.mark.parametrize(("batches", "at", "rest"), RESTS.values(), ids=RESTS)
def test_steady_batches_are_apart_and_the_first_ones_are_not(
    batches: Sequence[tuple[float, float]], at: float, rest: float
) -> None:
    pace = Pace()
    for began, ended in batches:
        pace.record(began, ended)
    assert pace.rest(at) == pytest.approx(rest)
