"""Recounts complete the counts of an account, once each, whatever happens meanwhile."""

import asyncio
from typing import Any
from uuid import UUID

from tests.factories import create_link
from tracker.ids import new_id
from tracker.links.counts.counts import find_counts
from tracker.links.counts.recount import LinkRecount
from tracker.service.services import Services

ACCOUNT, OTHER, TAG = (new_id() for _ in range(3))


async def of_an_earlier_release(services: Services) -> None:
    """Store links of two accounts without counting them."""
    for number in range(3):
        await create_link(services, ACCOUNT, None, tags=[TAG], active=number > 0)
    await create_link(services, OTHER, None)
    await services.stores.mongodb["link_counts"].delete_many({})


async def kept(services: Services, account_id: UUID = ACCOUNT) -> Any:
    counts = await find_counts(services.stores.mongodb.reads, account_id, [TAG])
    return counts and {tag_id: tuple(one) for tag_id, one in counts.items()}


async def test_counts_are_complete_after_the_first_recount(services: Services) -> None:
    await of_an_earlier_release(services)
    links = LinkRecount(services.stores.mongodb)
    await create_link(services, ACCOUNT, tags=[TAG])
    assert await kept(services) is None
    assert (await links.compare(ACCOUNT)).recounts == 0
    assert await links.correct(ACCOUNT) == 4
    assert await kept(services) == {None: (3, 1, 0, 0), TAG: (3, 1, 0, 0)}
    assert await kept(services, OTHER) is None
    assert await links.correct(ACCOUNT) == 0


async def test_simultaneous_recounts_add_a_difference_once(services: Services) -> None:
    await of_an_earlier_release(services)
    links = LinkRecount(services.stores.mongodb)
    corrected = await asyncio.gather(*(links.correct(ACCOUNT) for _ in range(4)))
    assert sorted(corrected) == [0, 0, 0, 4]
    assert await kept(services) == {None: (2, 1, 0, 0), TAG: (2, 1, 0, 0)}


async def test_accounts_with_uncounted_links_are_unfinished(services: Services) -> None:
    await of_an_earlier_release(services)
    links = LinkRecount(services.stores.mongodb)
    assert await links.unfinished() == sorted([ACCOUNT, OTHER])
    await links.correct(ACCOUNT)
    assert await links.unfinished() == [OTHER]


async def test_a_new_account_is_counted_from_its_creation(services: Services) -> None:
    account = await services.accounts.accounts.create("Acme")
    assert await kept(services, account.id) == {None: (0, 0, 0, 0), TAG: (0, 0, 0, 0)}
    await create_link(services, account.id, tags=[TAG])
    assert await kept(services, account.id) == {None: (1, 0, 0, 0), TAG: (1, 0, 0, 0)}
    assert await LinkRecount(services.stores.mongodb).unfinished() == []
