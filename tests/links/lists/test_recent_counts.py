"""Recent counts are read once in ten seconds, and only if they are complete."""

from tests.clock import Clock
from tests.factories import create_link
from tracker.accounts.accounts import Account
from tracker.links.counts.counts import OF_RECOUNTS, LinkCount
from tracker.links.lists.recent_counts import RECENT_SECONDS, RecentCounts
from tracker.service.services import Services


async def test_counts_are_read_again_after_ten_seconds(
    services: Services, account: Account, clock: Clock
) -> None:
    recent, reads = RecentCounts(clock), services.stores.mongodb.reads
    for passed, active in ((0, 1), (0, 1), (RECENT_SECONDS, 3)):
        await create_link(services, account.id, None)
        clock.seconds += passed
        assert await recent.find(reads, account.id, []) == {None: LinkCount(active)}


async def test_incomplete_counts_are_not_remembered(services: Services, account: Account) -> None:
    recent, reads = RecentCounts(), services.stores.mongodb.reads
    await create_link(services, account.id, None)
    of_recounts = {"_id.part": OF_RECOUNTS}
    counts = services.stores.mongodb["link_counts"]
    kept = await counts.find_one_and_delete(of_recounts)
    assert kept is not None
    assert await recent.find(reads, account.id, []) is None
    await counts.insert_one(kept)
    assert await recent.find(reads, account.id, []) == {None: LinkCount(1)}
