"""Work that waits for somebody else's server is limited for each account and in total."""

from contextlib import ExitStack

import pytest

from tracker.errors import RateLimited, Unavailable
from tracker.ids import new_id
from tracker.limits.account_limiter import AccountLimiter


def test_concurrency_is_limited_for_each_account_and_in_total() -> None:
    limiter = AccountLimiter("DNS", "look-ups", 2, 6, 4.5)
    with ExitStack() as held:
        for _ in range(3):
            account_id = new_id()
            for _ in range(2):
                held.enter_context(limiter.acquire(account_id))
            with pytest.raises(RateLimited) as refused, limiter.acquire(account_id):
                pass
            assert refused.value.headers == {"Retry-After": "4"}
            assert refused.value.message == (
                "DNS: 2 look-ups of the account are under way; try again"
            )
        with pytest.raises(Unavailable) as full, limiter.acquire(new_id()):
            pass
        assert full.value.headers == {"Retry-After": "4"}
        assert full.value.message == "DNS: too many look-ups are under way; try again"
    with limiter.acquire(account_id):
        pass


def test_failed_work_is_released() -> None:
    limiter, account_id = AccountLimiter("DNS", "look-ups", 1, 1, 4), new_id()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), limiter.acquire(account_id):
            raise ZeroDivisionError
    assert not limiter._in_flight
