"""The search for the rate that a row sustains."""

import pytest

from lab.bench.measure import Landed, Measured
from lab.bench.sustained import ATTEMPTS, Search, is_sustained
from lab.client import NOT_SENT, Outcome


def measured(rate: float, share: float = 1.0, unsent: int = 0) -> Measured:
    requests = int(rate)
    errors = {NOT_SENT: unsent} if unsent else {}
    settled = int(requests * share)
    return Measured(
        outcome=Outcome(requests=requests, seconds=1.0, p50=0.001, p99=0.002, errors=errors),
        cpu_seconds={"web": 1.0},
        memory={},
        landed=Landed(accepted=requests, at_end=settled, settled=settled, cpu_seconds={}),
    )


def found(limit: float, landed_rate: float) -> tuple[float | None, list[float]]:
    """Search on a service that sustains `limit`; return the result, and the rates tried."""
    search, tried = Search(landed_rate), []
    for _ in range(ATTEMPTS):
        tried.append(search.rate)
        search.add(measured(search.rate, 1.0 if search.rate <= limit else 0.9))
    return search.best.outcome.rate if search.best else None, tried


@pytest.mark.parametrize("limit", [9_000, 10_000, 11_500])
def test_the_result_is_at_most_the_limit_and_near_it(limit: float) -> None:
    rate, tried = found(limit, 10_000)
    assert rate is not None
    assert 0.95 * limit <= rate <= limit
    assert len(set(tried)) == ATTEMPTS


def test_there_is_no_result_if_no_rate_was_sustained() -> None:
    rate, tried = found(100, 10_000)
    assert rate is None
    assert tried == sorted(tried, reverse=True)


@pytest.mark.parametrize(
    ("share", "unsent", "expected"),
    [(1.0, 0, True), (0.99, 0, True), (0.98, 0, False), (1.0, 1, False)],
)
def test_a_load_is_sustained_if_it_was_sent_and_landed(
    share: float, unsent: int, expected: bool
) -> None:
    assert is_sustained(measured(10_000, share, unsent)) is expected
