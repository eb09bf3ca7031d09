"""Concurrency limits hold whatever happens, and no webhook starves."""

from collections.abc import Callable
from random import Random

import pytest

from tracker.ids import new_id
from tracker.webhooks.limits import (
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
from tracker.webhooks.sending.concurrency import ConcurrencyLimiter

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


def test_a_slow_webhook_has_few_slots_even_if_it_delivers() -> None:
    limiter = ConcurrencyLimiter()
    after(limiter, 100, delivered=True, milliseconds=SLOW_MS + 1)
    assert acquire(limiter, 0, 1000) == MAX_PER_SLOW_WEBHOOK


def test_no_request_waits_in_the_client() -> None:
    assert MAX_IN_FLIGHT + MAX_TESTS < MAX_CLIENT_REQUESTS


def test_the_limit_of_a_host_spans_all_its_webhooks() -> None:
    limiter = ConcurrencyLimiter()
    for hook in (0, 1, 2):
        after(limiter, 100, delivered=True, hook=hook, host="one host")
    acquired = [acquire(limiter, hook, 1000, host="one host") for hook in (0, 1, 2)]
    assert acquired == [MAX_PER_WEBHOOK, MAX_PER_HOST - MAX_PER_WEBHOOK, 0]
    assert acquire(limiter, 3, 1000, host="another") == 1


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


def test_webhooks_that_were_never_seen_may_start_while_untested_ones_leave_room() -> None:
    limiter = ConcurrencyLimiter(16)
    assert [acquire(limiter, hook, 9) for hook in (0, 2, 3, 4)] == [1, 1, 1, 1]
    assert not limiter.has_capacity(new_id())
    limiter.record_outcome(HOOKS[3], delivered=True, milliseconds=5)
    assert limiter.has_capacity(new_id())


def test_a_slow_webhook_stays_untested_while_no_more_can_be_degraded() -> None:
    limiter = ConcurrencyLimiter(4)
    for hook in (0, 1):
        after(limiter, 1, delivered=False, hook=hook)
    assert [acquire(limiter, hook, 1) for hook in (0, 1, 2)] == [1, 1, 1]
    limiter.record_slow(HOOKS[2])
    assert not limiter.has_capacity(new_id())


PERMITS, BYTES = 16, 12 * MAX_PAYLOAD_BYTES
SHARES = {"untested": 4, "healthy": 16, "degraded": 8}


class Hook:
    """A webhook, its requests in flight, and how the bytes of each are released."""

    def __init__(self, number: int) -> None:
        self.key, self.account, self.host = HOOKS[number], ACCOUNTS[number // 2], f"h{number}"
        self.health, self.limit = "untested", 1
        self.sizes: list[int] = []
        self.releases: list[Callable[[], None]] = []


def leave_room(hooks: list[Hook], share: int, number: int, size: int) -> bool:
    """Return whether so many more requests of a size fit into the hooks' share."""
    sizes = [size for hook in hooks for size in hook.sizes]
    return len(sizes) + number <= share and sum(sizes) + size <= BYTES * share // PERMITS


def may_start(hooks: list[Hook], hook: Hook) -> bool:
    alike = [one for one in hooks if one.health == hook.health]
    share = SHARES[hook.health]
    shares = [
        (hooks, PERMITS),
        ([one for one in hooks if one.account == hook.account], PERMITS // 4),
        (alike, share),
        ([one for one in alike if one.account == hook.account], share // 2),
    ]
    has_room = all(leave_room(some, most, 1, MAX_PAYLOAD_BYTES) for some, most in shares)
    return has_room and len(hook.sizes) < hook.limit


def end(limiter: ConcurrencyLimiter, hook: Hook) -> None:
    """End the last request: one that is written, or one whose size is not recorded."""
    size = hook.sizes.pop()
    if size < MAX_PAYLOAD_BYTES:
        hook.releases.pop()()
        size = 0
    limiter.release(hook.key, size=size)


def record_outcome(limiter: ConcurrencyLimiter, hook: Hook, kind: str) -> None:
    limiter.record_outcome(hook.key, kind != "fails", 2 * SLOW_MS if kind == "late" else 5)
    hook.limit = 1 if kind == "fails" else hook.limit + 1
    hook.health = "healthy" if kind == "delivers" else "degraded"
    end(limiter, hook)


KINDS = ["acquire", "acquire", "size", "written", "slow", "delivers", "delivers", "late", "fails"]


@pytest.mark.parametrize("seed", range(3))
def test_permits_are_given_as_a_naive_model_says(seed: int) -> None:
    limiter, random = ConcurrencyLimiter(PERMITS, max_bytes=BYTES), Random(seed)
    hooks = [Hook(number) for number in range(6)]
    for _ in range(5000):
        hook, kind = random.choice(hooks), random.choice(KINDS)
        if kind == "acquire":
            before = len(hook.sizes)
            while len(hook.sizes) < before + 3 and may_start(hooks, hook):
                hook.sizes.append(MAX_PAYLOAD_BYTES)
            given_now = limiter.acquire(hook.key, hook.account, hook.host, 3)
            assert given_now == len(hook.sizes) - before
            assert limiter.has_capacity(hook.key) == may_start(hooks, hook)
        elif kind == "size" and MAX_PAYLOAD_BYTES in hook.sizes:
            hook.sizes.remove(MAX_PAYLOAD_BYTES)
            hook.sizes.append(1000)
            hook.releases.append(limiter.record_size(hook.key, 1000))
        elif kind == "written" and 1000 in hook.sizes:
            hook.sizes[hook.sizes.index(1000)] = 0
            for _ in range(2):
                hook.releases[hook.sizes.count(0) - 1]()
        elif kind == "slow" and hook.sizes:
            limiter.record_slow(hook.key)
            degraded = [one for one in hooks if one.health == "degraded"]
            has_room = leave_room(degraded, 8, len(hook.sizes), sum(hook.sizes))
            if hook.health == "untested" and has_room:
                hook.health = "degraded"
        elif kind in ("delivers", "late", "fails") and hook.sizes:
            record_outcome(limiter, hook, kind)
        assert limiter.in_flight(hook.account, hook.key)[1] == len(hook.sizes)
    for hook in hooks:
        while hook.sizes:
            end(limiter, hook)
    assert not limiter._in_flight
    assert not limiter._bytes
