"""Permits for expensive work, and the queues for them."""

import asyncio
from uuid import UUID

import pytest

from tests.waiting import PATIENCE_SECONDS, eventually
from tracker.errors import RateLimited, Unavailable
from tracker.limits.permits import PermitLimits, Permits

ACCOUNTS = {name: UUID(int=number) for number, name in enumerate("abcdefgh")}


async def order(asked: str, limits: PermitLimits) -> str:
    """Return the accounts in the order in which their requests begin, all of them asked at once.

    Those under way end one after another, the oldest first.
    """
    permits, begun, ends = Permits("report", "reports", limits, 30), "", list[asyncio.Event]()

    async def request(name: str) -> None:
        nonlocal begun
        async with permits.permit(ACCOUNTS[name], 60):
            begun += name
            ends.append(asyncio.Event())
            await ends[-1].wait()

    requests = [asyncio.create_task(request(name)) for name in asked]
    for number in range(len(asked)):
        await eventually(lambda: len(ends) > number)  # noqa: B023
        assert len(begun) - number <= limits.of_all
        ends[number].set()
    await asyncio.gather(*requests)
    return begun


@pytest.mark.parametrize(
    ("asked", "of_account", "of_all", "begun"),
    [
        ("a", 1, 2, "a"),
        ("ab", 1, 2, "ab"),
        ("aab", 1, 2, "aba"),  # one permit for each account first
        ("aaaaaaaab", 1, 2, "abaaaaaaa"),
        ("aaabbb", 1, 1, "ababab"),
        ("aaabcbc", 1, 1, "abcabca"),
        ("aaaab", 2, 2, "aabaa"),
    ],
)
async def test_accounts_take_turns_and_the_oldest_of_each_is_first(
    asked: str, of_account: int, of_all: int, begun: str
) -> None:
    assert await order(asked, PermitLimits(of_account, of_all, 25, 200)) == begun


async def test_only_the_account_that_fills_its_line_is_rejected() -> None:
    permits = Permits("report", "reports", PermitLimits(1, 1, 2, 10), 30)
    async with permits.permit(ACCOUNTS["a"], 60), asyncio.TaskGroup() as group:
        waiting = [group.create_task(hold(permits, name)) for name in "aab"]
        await asyncio.sleep(0)
        with pytest.raises(RateLimited):
            await hold(permits, "a")
        for one in waiting:
            one.cancel()


async def test_a_request_that_stops_waiting_frees_its_place_in_both_queues() -> None:
    permits = Permits("report", "reports", PermitLimits(1, 1, 25, 200), 30)
    async with permits.permit(ACCOUNTS["a"], 60):
        left = asyncio.create_task(hold(permits, "b"))
        await asyncio.sleep(0)
        left.cancel()
        with pytest.raises(Unavailable):
            await hold(permits, "b", seconds=0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await hold(permits, "b")


async def hold(permits: Permits, name: str, seconds: float = 60) -> None:
    async with permits.permit(ACCOUNTS[name], seconds):
        pass
