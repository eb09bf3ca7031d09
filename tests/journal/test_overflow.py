"""An account that sends more than drains can store delays only itself."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from config.settings import Settings
from tests.factories import make_click, make_conversion
from tests.journal.spooling import journal_at
from tests.waiting import PATIENCE_SECONDS
from tracker.ids import new_id
from tracker.journal.appender import Claim
from tracker.journal.backlog import Backlog
from tracker.journal.overflow import BEHIND_MS, Overflow, keep_deciding
from tracker.stores.redis import keys

pytestmark = pytest.mark.redis

FLOOD, OTHER = b"a" * 16, b"b" * 16


def after(counted: dict[bytes, int], is_behind: bool = True) -> Overflow:
    """Return an overflow that has decided by these numbers of records."""
    overflow = Overflow()
    overflow.decide(is_behind=True)
    for account, number in counted.items():
        for _ in range(number):
            overflow.takes(account)
    overflow.decide(is_behind)
    return overflow


@pytest.mark.parametrize(
    ("counted", "is_behind", "chosen"),
    [
        ({FLOOD: 90, OTHER: 10}, True, {FLOOD}),
        ({FLOOD: 90, OTHER: 10}, False, set()),
        ({FLOOD: 26, OTHER: 10, b"c": 64}, True, {FLOOD, b"c"}),
        ({FLOOD: 25, OTHER: 25, b"c": 25, b"d": 25}, True, set()),
        ({FLOOD: 100}, True, set()),
        ({}, True, set()),
    ],
)
def test_accounts_with_a_large_share_have_an_overflow_if_others_are_delayed(
    counted: dict[bytes, int], is_behind: bool, chosen: set[bytes]
) -> None:
    overflow = after(counted, is_behind)
    assert overflow.is_counting == is_behind
    assert {one for one in counted if overflow.takes(one)} == chosen


def test_an_account_that_has_stopped_has_no_overflow_any_longer() -> None:
    overflow = after({FLOOD: 90, OTHER: 10})
    assert overflow.takes(FLOOD)
    for _ in range(10):
        overflow.takes(OTHER)
        overflow.takes(b"c")
        overflow.takes(b"d")
        overflow.takes(b"e")
    overflow.decide(is_behind=True)
    assert not overflow.takes(FLOOD)


async def test_a_flood_is_appended_apart_while_drains_are_behind(
    settings: Settings, tmp_path: Path
) -> None:
    async with journal_at(settings.redis_url, tmp_path) as (built, redis):
        seconds, _ = await redis.time()
        await redis.xadd(keys.JOURNAL, {"x": ""}, id=f"{seconds * 1000 - 2 * BEHIND_MS}-0")
        deciding = asyncio.create_task(keep_deciding(built.overflow, Backlog(redis)))
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not await redis.xlen(keys.OVERFLOW):
                    await asyncio.gather(
                        *(built.append(make_click(UUID(bytes=FLOOD))) for _ in range(9)),
                        built.append(make_click(UUID(bytes=OTHER))),
                    )
            before = await redis.xlen(keys.JOURNAL), await redis.xlen(keys.OVERFLOW)
            await built.append(make_click(UUID(bytes=OTHER)))
            await built.append(make_click(UUID(bytes=FLOOD)))
            event = make_conversion(1, account_id=FLOOD, transaction_id="T-1")
            claim = Claim((keys.transaction_claim(new_id(), "T-1"),), event.id)
            await built.append_once(event, claim)
            after = await redis.xlen(keys.JOURNAL), await redis.xlen(keys.OVERFLOW)
            assert after == (before[0] + 2, before[1] + 1)
        finally:
            deciding.cancel()
