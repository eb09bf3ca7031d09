"""The allowance of each client: used, refilled, and forgotten."""

import pytest

from tests.clock import Clock
from tracker.limits.allowance import Allowance


def uses(allowance: Allowance, address: str, times: int) -> list[bool]:
    return [allowance.use(address) for _ in range(times)]


def test_a_client_may_spend_its_allowance_at_once_and_then_no_more(clock: Clock) -> None:
    allowance = Allowance(3, now=clock)
    assert not allowance.is_used_up("a")
    assert uses(allowance, "a", 5) == [True, True, True, False, False]
    assert allowance.is_used_up("a")


@pytest.mark.parametrize(("seconds", "again"), [(19, 0), (20, 1), (59, 2), (60, 3), (9999, 3)])
def test_an_allowance_is_refilled_evenly_over_a_minute(
    clock: Clock, seconds: float, again: int
) -> None:
    allowance = Allowance(3, now=clock)
    uses(allowance, "a", 3)
    clock.seconds = seconds
    assert allowance.is_used_up("a") is not bool(again)
    assert uses(allowance, "a", 5).count(True) == again


def test_attempts_beyond_the_allowance_do_not_delay_its_refill(clock: Clock) -> None:
    allowance = Allowance(60, now=clock)
    uses(allowance, "a", 1000)
    clock.seconds = 1
    assert allowance.use("a")


def test_each_network_has_its_own_allowance(clock: Clock) -> None:
    allowance = Allowance(1, now=clock)
    assert uses(allowance, "2001:db8::1", 1) == [True]
    assert allowance.is_used_up("2001:db8::2")
    assert not allowance.is_used_up("2001:db8:0:1::1")
    assert uses(allowance, "203.0.113.7", 1) == [True]
    assert allowance.is_used_up("::ffff:203.0.113.7")
    whole = Allowance(1, ipv6_prefix=128, now=clock)
    assert [whole.use("2001:db8::1"), whole.use("2001:db8::2")] == [True, True]


def test_an_allowance_of_zero_limits_nothing(clock: Clock) -> None:
    allowance = Allowance(0, now=clock)
    assert all(uses(allowance, "a", 100))
    assert not allowance.is_used_up("a")


def test_beyond_the_limit_the_client_that_spent_longest_ago_is_forgotten(
    clock: Clock,
) -> None:
    allowance = Allowance(1, max_clients=2, now=clock)
    for address in "abac":
        allowance.use(address)
    assert [allowance.is_used_up(address) for address in "abc"] == [True, False, True]
