"""What waits for somebody else's server is bounded, for each account and in all."""

from contextlib import ExitStack

import pytest

from tracker.errors import RateLimited, Unavailable
from tracker.ids import new_id
from tracker.limits.account_limiter import AccountLimiter


def test_an_account_has_few_places_and_all_together_have_a_bound() -> None:
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


def test_work_that_fails_gives_its_place_back() -> None:
    limiter, account_id = AccountLimiter("DNS", "look-ups", 1, 1, 4), new_id()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), limiter.acquire(account_id):
            raise ZeroDivisionError
    assert not limiter._of_account
