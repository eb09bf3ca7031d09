"""Counting is limited in rows, in time and in how often it is repeated."""

import asyncio

import pytest
from pymongo.errors import ExecutionTimeout, OperationFailure

from tests.clock import Clock
from tracker.links.lists import totals
from tracker.links.lists.totals import (
    COUNTED_KEYS,
    COUNTED_LINKS,
    REMEMBERED_SECONDS,
    Count,
    Counting,
    Total,
    Totals,
)


def counting(*found: int | Exception) -> tuple[Count, list[int]]:
    """Return a count with these results in turn, and the limits that it is given."""
    limits: list[int] = []

    async def count(limit: int) -> int:
        await asyncio.sleep(0)
        limits.append(limit)
        one = found[len(limits) - 1]
        if isinstance(one, Exception):
            raise one
        return min(one, limit)

    return count, limits


@pytest.mark.parametrize(
    ("found", "total"),
    [
        (0, Total(0)),
        (COUNTED_LINKS, Total(COUNTED_LINKS)),
        (COUNTED_LINKS + 1, Total(COUNTED_LINKS, is_exact=False)),
        (10**6, Total(COUNTED_LINKS, is_exact=False)),
        (ExecutionTimeout("too long", 50), Total(0, is_exact=False)),
    ],
)
async def test_as_many_as_the_limits_allow_are_counted(
    found: int | Exception, total: Total
) -> None:
    count, limits = counting(found)
    assert await Totals().find("a", Counting(count)) == total
    assert limits == [COUNTED_LINKS + 1]


@pytest.mark.parametrize(
    ("found", "total"),
    [
        ([COUNTED_LINKS], Total(COUNTED_LINKS)),
        ([COUNTED_LINKS + 1, 10**6], Total(10**6)),
        ([COUNTED_LINKS + 1, 10**7], Total(COUNTED_KEYS, is_exact=False)),
        ([COUNTED_LINKS + 1, ExecutionTimeout("late", 50)], Total(COUNTED_LINKS, is_exact=False)),
    ],
)
async def test_keys_of_an_index_are_counted_further_as_long_as_there_is_time(
    found: list[int | Exception], total: Total
) -> None:
    count, limits = counting(*found)
    assert await Totals().find("a", Counting(count, by_keys=True)) == total
    assert limits == [COUNTED_LINKS + 1, COUNTED_KEYS + 1][: len(found)]


@pytest.mark.parametrize(
    ("by_others", "total", "counted"), [(10**6 - 5, Total(10**6 - 5), 1), (None, Total(20_000), 2)]
)
async def test_the_few_others_are_counted_instead_of_many_links(
    by_others: int | None, total: Total, counted: int
) -> None:
    count, limits = counting(20_000, 20_000)

    async def count_others() -> int | None:
        return by_others

    assert await Totals().find("a", Counting(count, True, count_others)) == total
    assert len(limits) == counted


async def test_what_a_search_has_found_until_the_time_is_over_is_the_total() -> None:
    count, _ = counting(ExecutionTimeout("late", 50))
    found = await Totals().find("a", Counting(count, so_far=lambda: 7))
    assert found == Total(7, is_exact=False)


async def test_counting_does_not_wait_long_for_the_search_of_another_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(totals, "COUNT_SECONDS", 0.01)

    async def count(limit: int) -> int:
        await asyncio.Event().wait()
        return limit

    found = await Totals().find("a", Counting(count, so_far=lambda: 7))
    assert found == Total(7, is_exact=False)


async def test_another_error_than_the_limit_of_time_is_raised() -> None:
    count, _ = counting(OperationFailure("no such index"))
    with pytest.raises(OperationFailure):
        await Totals().find("a", Counting(count))


async def test_many_links_are_counted_once_for_a_while(clock: Clock) -> None:
    known, (count, limits) = Totals(clock), counting(5_000, 6_000)
    both = [await known.find("a", Counting(count)) for _ in range(2)]
    clock.seconds += REMEMBERED_SECONDS
    assert [*both, await known.find("a", Counting(count))] == [
        Total(5_000),
        Total(5_000),
        Total(6_000),
    ]
    assert len(limits) == 2


async def test_few_links_are_counted_each_time_unless_it_takes_long(clock: Clock) -> None:
    known, (count, _) = Totals(clock), counting(5, 6, 7)

    async def slow(limit: int) -> int:
        clock.seconds += 0.5
        return await count(limit)

    found = [await known.find("a", Counting(one)) for one in (count, slow, count)]
    assert found == [Total(5), Total(6), Total(6)]


async def test_what_is_asked_at_once_is_counted_once() -> None:
    known, (count, limits) = Totals(), counting(5)
    assert await asyncio.gather(*(known.find("a", Counting(count)) for _ in range(3))) == 3 * [
        Total(5)
    ]
    assert len(limits) == 1


async def test_as_many_totals_are_remembered_as_fit(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(totals, "_REMEMBERED", 2)
    known, (count, limits) = Totals(clock), counting(*range(1_000, 1_010))
    for key in ("a", "b", "c"):
        await known.find(key, Counting(count))
    again = [(await known.find(key, Counting(count))).rows for key in ("c", "b", "a")]
    assert again == [1_002, 1_001, 1_003]
    assert len(limits) == 4
