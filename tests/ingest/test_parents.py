"""The parent of a click, which its query names, and the link of the parent in its conversions.

Batches in any order, of drains that die or work at once: `test_exactly_once`.
"""

import asyncio
from collections.abc import Sequence
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest

from tests.conversions import scene
from tests.factories import AT_MS, make_click, make_conversion
from tests.ingest import ledger
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion, Report
from tracker.ids import new_id
from tracker.ingest.planning.write_set import WriteSet
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis

ACCOUNT = new_id()


def child_of(parent: Click, account_id: UUID = ACCOUNT, **fields: Any) -> Click:
    query = f"click_id={UUID(bytes=parent.id)}"
    return make_click(account_id, **{"at": AT_MS + 5_000, "query": query, **fields})


def conversion_of(number: int, click: Click, **fields: Any) -> Conversion:
    return make_conversion(number, click.id, account_id=click.account_id, **fields)


async def links(services: Services, collection: str, ids: Sequence[Any]) -> list[bytes | None]:
    """Return the stored link of each one's parent."""
    rows = {row["_id"]: row async for row in services.stores.mongodb[collection].find()}
    found = [rows[one].get("parent_link_id") for one in ids]
    return [one and one.bytes for one in found]


async def test_a_click_has_the_link_of_an_older_click_of_its_account(services: Services) -> None:
    parent = make_click(ACCOUNT)
    foreign, newer = make_click(), make_click(ACCOUNT, at=AT_MS + 6_000)
    own = new_id()
    clicks = [
        child_of(parent),
        child_of(parent, query=f"a=1&click%5Fid={UUID(bytes=parent.id)}"),
        child_of(parent, query=f"a=%26click_id={UUID(bytes=parent.id)}"),
        child_of(parent, query=f"click_id={str(UUID(bytes=parent.id)).upper()}&click_id=x"),
        child_of(parent, query=f"click_id=x&click_id={UUID(bytes=parent.id)}"),
        child_of(foreign),
        child_of(newer),
        child_of(make_click(ACCOUNT)),
        make_click(ACCOUNT, own, query=f"click_id={own}"),
    ]
    await scene.applied(services, [parent, foreign, newer, *clicks])
    link = parent.link_id
    found = await links(services, "clicks", [UUID(bytes=one.id) for one in clicks])
    assert found == [link, None, None, link, *[None] * 5]


async def test_whichever_of_parent_click_and_conversion_is_stored_last(services: Services) -> None:
    expected = []
    for number, order in enumerate(permutations(range(3))):
        parent = make_click(ACCOUNT)
        child = child_of(parent)
        records: list[Record] = [parent, child, conversion_of(number + 1, child)]
        for at in order:
            await scene.applied(services, [records[at]])
            await ledger.check(services)
        expected.append(parent.link_id)
    assert await links(services, "events", range(1, 7)) == expected


async def test_only_conversions_with_the_values_of_their_click_have_its_parent(
    services: Services,
) -> None:
    parent = make_click(ACCOUNT)
    child, test = child_of(parent), child_of(parent, test=True)
    in_a_second = Report(max_ms=1_000)
    conversions = [
        conversion_of(1, child, report=in_a_second, at=AT_MS + 7_000),
        make_conversion(2, child.id, account_id=new_id().bytes),
        conversion_of(3, test),
        make_conversion(4, account_id=child.account_id),
    ]
    await scene.applied(services, [child, test, *conversions])
    await scene.applied(services, [parent])
    found = await links(services, "events", [1, 2, 3, 4])
    assert found == [None, None, parent.link_id, None]


async def test_a_parent_stored_between_the_plan_of_a_conversion_and_its_transaction(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = make_click(ACCOUNT)
    child = child_of(parent)
    await scene.applied(services, [child])
    slow = scene.drain_of(services)
    write = slow._writer.write

    async def write_later(write_set: WriteSet) -> None:
        if write_set.events:
            await scene.applied(services, [parent])
        await write(write_set)

    monkeypatch.setattr(slow._writer, "write", write_later)
    await slow.apply([conversion_of(1, child)])
    assert await links(services, "events", [1]) == [parent.link_id]
    await ledger.check(services)


async def test_conversions_of_a_click_whose_parent_is_known_read_no_others(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One click may have any number of them."""
    parent = make_click(ACCOUNT)
    child = child_of(parent)
    await scene.applied(services, [parent, child])
    drain = scene.drain_of(services)
    monkeypatch.setattr(drain._events, "without_parent", None)
    await drain.apply([conversion_of(1, child)])
    assert await links(services, "events", [1]) == [parent.link_id]


async def test_drains_at_once_find_each_parent_once(services: Services) -> None:
    """One stores the parents, two the children with their conversions, in many small batches."""
    pairs = [(parent, child_of(parent)) for parent in (make_click(ACCOUNT) for _ in range(60))]
    of_children: list[Record] = [
        record
        for number, (_, child) in enumerate(pairs, 1)
        for record in (child, conversion_of(number, child))
    ]
    batches: list[list[list[Record]]] = [
        [[parent] for parent, _ in pairs],
        [of_children[at : at + 3] for at in range(0, 60, 3)],
        [of_children[at : at + 4] for at in range(116, 56, -4)],
    ]

    async def drain(some: Sequence[list[Record]]) -> None:
        drain = scene.drain_of(services)
        for batch in some:
            await drain.apply(batch)

    await asyncio.gather(*map(drain, batches))
    expected = [parent.link_id for parent, _ in pairs]
    assert await links(services, "events", range(1, 61)) == expected
    await ledger.check(services)


async def test_accounts_are_marked_once_a_parent_is_known(services: Services) -> None:
    account, other = [await services.accounts.accounts.create("Acme") for _ in range(2)]
    parent = make_click(account.id)
    drain = scene.drain_of(services)

    async def marked() -> list[bool]:
        found = [await services.accounts.accounts.find(one.id) for one in (account, other)]
        return [one.has_parents for one in found if one]

    await drain.apply([child_of(parent, account.id), make_click(other.id)])
    assert await marked() == [False, False]
    await drain.apply([parent])
    assert await marked() == [True, False]
