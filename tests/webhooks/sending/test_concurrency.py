"""Concurrency limits hold whatever happens, and no webhook starves."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.ids import new_id
from tracker.webhooks.limits import (
    MAX_BYTES_IN_FLIGHT,
    MAX_CLIENT_REQUESTS,
    MAX_IN_FLIGHT,
    MAX_PAYLOAD_BYTES,
    MAX_PER_HOST,
    MAX_PER_SLOW_WEBHOOK,
    MAX_PER_WEBHOOK,
    MAX_REMEMBERED_WEBHOOKS,
    MAX_TESTS,
    SLOW_MS,
)
from tracker.webhooks.sending.concurrency import ConcurrencyLimiter, Health

HOOKS = [new_id() for _ in range(6)]
ACCOUNTS = [new_id() for _ in range(6)]


def acquire(
    limiter: ConcurrencyLimiter, hook: int, wanted: int, account: int | None = None, host: str = ""
) -> int:
    owner = ACCOUNTS[hook if account is None else account]
    return limiter.acquire(HOOKS[hook], owner, host or f"h{hook}", wanted)


def after(
    limiter: ConcurrencyLimiter,
    number: int,
    delivered: bool,
    hook: int = 0,
    account: int | None = None,
    milliseconds: int = 5,
    host: str = "",
) -> None:
    """Make so many attempts, one after the other."""
    for _ in range(number):
        assert acquire(limiter, hook, 1, account, host) == 1
        limiter.record_outcome(HOOKS[hook], delivered, milliseconds)
        limiter.release(HOOKS[hook], 1)


def test_a_webhook_starts_with_one_slot_and_gains_one_with_each_success() -> None:
    limiter = ConcurrencyLimiter()
    assert acquire(limiter, 0, 100) == 1
    assert not limiter.has_capacity(HOOKS[0])
    limiter.record_outcome(HOOKS[0], delivered=True, milliseconds=5)
    assert acquire(limiter, 0, 100) == 1
    assert limiter.in_flight(ACCOUNTS[0], HOOKS[0]) == (2, 2)
    limiter.release(HOOKS[0], 2)
    after(limiter, 200, delivered=True)
    assert acquire(limiter, 0, 1000) == MAX_PER_WEBHOOK


def test_a_webhook_that_fails_has_one_slot_until_it_delivers() -> None:
    limiter = ConcurrencyLimiter()
    after(limiter, 30, delivered=True)
    after(limiter, 1, delivered=False)
    assert acquire(limiter, 0, 100) == 1
    limiter.release(HOOKS[0], 1)
    after(limiter, 2, delivered=True)
    assert acquire(limiter, 0, 100) == 3


def test_a_slow_webhook_has_few_slots_even_if_it_delivers() -> None:
    limiter = ConcurrencyLimiter()
    after(limiter, 100, delivered=True, milliseconds=SLOW_MS + 1)
    assert acquire(limiter, 0, 1000) == MAX_PER_SLOW_WEBHOOK


def test_large_requests_are_fewer_and_leave_each_share_to_others() -> None:
    limiter, large = ConcurrencyLimiter(), MAX_PAYLOAD_BYTES
    after(limiter, 1, delivered=True)
    degraded = 0
    for number in range(MAX_IN_FLIGHT):
        hook, account = new_id(), ACCOUNTS[number % len(ACCOUNTS)]
        if limiter.acquire(hook, account, hook.hex, 1):
            limiter.record_size(hook, large)
            limiter.record_slow(hook)
            degraded += limiter._webhooks[hook].health is Health.DEGRADED
    assert degraded == MAX_BYTES_IN_FLIGHT // 2 // large
    assert not limiter.has_capacity(new_id())
    assert limiter.free_permits == MAX_BYTES_IN_FLIGHT // 4 // large
    assert acquire(limiter, 0, 1) == 1


def test_small_requests_make_room_once_their_size_is_known() -> None:
    limiter = ConcurrencyLimiter(64, max_bytes=64 * MAX_PAYLOAD_BYTES // 2)
    after(limiter, 9, delivered=True)
    assert acquire(limiter, 0, 9) == 8
    assert not limiter.has_capacity(HOOKS[0])
    limiter.record_size(HOOKS[0], 1000)
    assert not limiter.has_capacity(HOOKS[0])
    limiter.record_size(HOOKS[0], 1000)
    assert acquire(limiter, 0, 9) == 1


def test_a_request_that_is_written_has_no_bytes_and_these_are_released_once() -> None:
    limiter = ConcurrencyLimiter(16, max_bytes=8 * MAX_PAYLOAD_BYTES)
    after(limiter, 3, delivered=True)
    assert acquire(limiter, 0, 3) == 2
    release = limiter.record_size(HOOKS[0], MAX_PAYLOAD_BYTES)
    assert not limiter.has_capacity(HOOKS[0])
    release()
    assert acquire(limiter, 0, 3) == 1
    release()
    assert not limiter.has_capacity(HOOKS[0])
    limiter.release(HOOKS[0], size=0)
    limiter.release(HOOKS[0], 2)
    assert not limiter._bytes


def test_no_request_waits_in_the_client() -> None:
    assert MAX_IN_FLIGHT + MAX_TESTS < MAX_CLIENT_REQUESTS


def test_the_limit_of_a_host_spans_all_its_webhooks() -> None:
    limiter = ConcurrencyLimiter()
    for hook in (0, 1, 2):
        after(limiter, 100, delivered=True, hook=hook, host="one host")
    acquired = [acquire(limiter, hook, 1000, host="one host") for hook in (0, 1, 2)]
    assert acquired == [MAX_PER_WEBHOOK, MAX_PER_HOST - MAX_PER_WEBHOOK, 0]
    assert acquire(limiter, 3, 1000, host="another") == 1


def test_an_account_has_at_most_a_quarter_of_all_slots() -> None:
    limiter = ConcurrencyLimiter(16)
    for hook in (0, 1):
        after(limiter, 9, delivered=True, hook=hook, account=0)
    assert [acquire(limiter, hook, 3, account=0) for hook in (0, 1)] == [3, 1]
    assert acquire(limiter, 2, 9) == 1


@pytest.mark.parametrize(("delivered", "milliseconds"), [(False, 5), (True, SLOW_MS + 1)])
def test_degraded_webhooks_share_half_of_all_slots(delivered: bool, milliseconds: int) -> None:
    limiter = ConcurrencyLimiter(4)
    for hook in (0, 1, 2):
        after(limiter, 1, delivered, hook, milliseconds=milliseconds)
    assert [acquire(limiter, hook, 9) for hook in (0, 1, 2)] == [1, 1, 0]
    assert not limiter.has_capacity(HOOKS[2])
    limiter.record_outcome(HOOKS[0], delivered=True, milliseconds=5)
    limiter.release(HOOKS[0], 1)
    assert acquire(limiter, 2, 9) == 1


def test_untested_webhooks_share_a_quarter_and_one_account_has_half_of_that() -> None:
    limiter = ConcurrencyLimiter(16)
    assert [acquire(limiter, hook, 9, account=0) for hook in (0, 1, 2)] == [1, 1, 0]
    assert [acquire(limiter, hook, 9, account=1) for hook in (3, 4, 5)] == [1, 1, 0]
    assert not limiter.has_capacity(new_id())
    limiter.record_outcome(HOOKS[3], delivered=True, milliseconds=5)
    assert limiter.has_capacity(new_id())


def test_an_untested_webhook_makes_room_for_others_once_it_is_slow() -> None:
    limiter = ConcurrencyLimiter(16)
    assert [acquire(limiter, hook, 1) for hook in range(5)] == [1, 1, 1, 1, 0]
    limiter.record_slow(HOOKS[0])
    assert [acquire(limiter, hook, 1) for hook in range(6)] == [0, 0, 0, 0, 1, 0]


def test_idle_webhooks_are_forgotten_when_too_many_are_remembered() -> None:
    limiter = ConcurrencyLimiter()
    acquire(limiter, 0, 1)
    for _ in range(MAX_REMEMBERED_WEBHOOKS + 5):
        hook = new_id()
        limiter.acquire(hook, ACCOUNTS[1], "h", 1)
        limiter.release(hook, 1)
    assert len(limiter._webhooks) <= MAX_REMEMBERED_WEBHOOKS
    limiter.release(HOOKS[0], 1)
    assert not limiter._in_flight
    assert not limiter._bytes


MOVES = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(0, 2),
        st.sampled_from(["acquire", "hangs", "ok", "slow", "no"]),
    ),
    max_size=200,
)


@given(MOVES)
def test_no_limit_is_broken_and_every_slot_is_released(
    moves: list[tuple[int, int, str]],
) -> None:
    limiter, held = ConcurrencyLimiter(8), list[UUID]()
    for hook, host, kind in moves:
        key = HOOKS[hook]
        if kind == "acquire":
            held += [key] * acquire(limiter, hook, 3, account=hook // 2, host=f"h{host}")
        elif key in held and kind == "hangs":
            limiter.record_slow(key)
        elif key in held:
            limiter.record_outcome(key, kind != "no", 2 * SLOW_MS if kind == "slow" else 5)
            limiter.release(key, 1)
            held.remove(key)
        assert limiter.free_permits == 8 - len(held) >= 0
        assert all(
            held.count(one) == webhook.in_flight for one, webhook in limiter._webhooks.items()
        )
        assert all(limiter._in_flight["account", one] <= 2 for one in ACCOUNTS)
    for key in held:
        limiter.release(key, 1)
    assert not limiter._in_flight
    assert not limiter._bytes
