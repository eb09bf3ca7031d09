"""The kept counts equal the links after every change, however many come at once."""

import asyncio
from collections.abc import Callable
from itertools import starmap
from typing import Any
from uuid import UUID

import pytest

from tests.factories import create_link, make_new_link
from tests.links.processes import process
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_id
from tracker.links.counts import counts as kept
from tracker.links.counts.counts import (
    CountKey,
    LinkCount,
    find_counts,
    state_of,
)
from tracker.links.counts.recount import LinkRecount
from tracker.links.link import Link
from tracker.links.lists.filter import LinkFilter
from tracker.links.lists.link_lists import Total
from tracker.service.services import Services

ACCOUNT, OTHER, RED, BLUE = (new_id() for _ in range(4))


async def complete(services: Services, *accounts: UUID) -> None:
    for one in accounts or (ACCOUNT,):
        await LinkRecount(services.stores.mongodb).correct(one)


async def counts(services: Services, account_id: UUID = ACCOUNT) -> dict[UUID | None, Any]:
    """Return the kept counts that are not zero, once they were compared with the links."""
    assert (await LinkRecount(services.stores.mongodb).compare(account_id)).missing == {}
    found = await find_counts(services.stores.mongodb.reads, account_id, [RED, BLUE])
    assert found is not None
    return {tag_id: one for tag_id, one in found.items() if any(one)}


async def made(services: Services, *tags: list[UUID], **fields: Any) -> list[Link]:
    new = [make_new_link(ACCOUNT, tags=one, **fields) for one in tags]
    return await services.links.links.create_all(new)


async def test_every_change_of_links_is_counted(services: Services) -> None:
    await complete(services)
    links = services.links.links
    [red, both, _] = await made(services, [RED], [RED, BLUE], [])
    await create_link(services, ACCOUNT, tags=[BLUE], active=False)
    assert await counts(services) == {
        None: LinkCount(3, 1),
        RED: LinkCount(2),
        BLUE: LinkCount(1, 1),
    }
    await links.change(red.id, {"active": False, "tags": [BLUE]})
    await links.change(red.id, {"internal_name": "Another"})
    assert await counts(services) == {
        None: LinkCount(2, 2),
        RED: LinkCount(1),
        BLUE: LinkCount(1, 2),
    }
    await links.change(both.id, {"archived": True})
    assert await counts(services) == {
        None: LinkCount(1, 2, 1),
        RED: LinkCount(0, 0, 1),
        BLUE: LinkCount(0, 2, 1),
    }

    async def nothing(*_: Any) -> None: ...

    await links.change_all([both], lambda _: {"archived": False, "active": False}, nothing)
    assert await counts(services) == {
        None: LinkCount(1, 3),
        RED: LinkCount(0, 1),
        BLUE: LinkCount(0, 3),
    }


async def test_what_fails_is_not_counted(services: Services) -> None:
    await complete(services)
    link = await create_link(services, ACCOUNT, tags=[RED])
    links = services.links.links

    async def fail(*_: Any) -> None:
        raise ConnectionError

    with pytest.raises(BadRequest):
        await create_link(services, ACCOUNT)
    with pytest.raises(ConnectionError):
        await links.create_all([make_new_link(ACCOUNT)], fail)
    with pytest.raises(ConnectionError):
        await links.change_all([link], lambda _: {"archived": True}, fail)
    await links.change(link.id, {"archived": True})
    with pytest.raises(NotFound):
        await links.change(link.id, {"active": False})
    assert await counts(services) == {None: LinkCount(0, 0, 1), RED: LinkCount(0, 0, 1)}


async def test_a_deleted_tag_and_a_deleted_domain_change_the_counts_in_pieces(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "PIECE_LINKS", 2)
    await complete(services, ACCOUNT, OTHER)
    domain = await services.links.domains.create(ACCOUNT, "go.example")
    await made(services, [RED], [RED, BLUE], [BLUE], [RED], [RED])
    await create_link(services, OTHER, tags=[RED])
    for _ in range(3):
        await create_link(services, ACCOUNT, None, domain_id=domain.id, domain_name="go.example")
    await services.links.links.untag(ACCOUNT, RED)
    assert await counts(services) == {None: LinkCount(8), BLUE: LinkCount(2)}
    assert await counts(services, OTHER) == {None: LinkCount(1), RED: LinkCount(1)}
    await services.links.domains.delete(domain.id)
    assert await counts(services) == {None: LinkCount(5, 0, 3), BLUE: LinkCount(2)}


async def test_changes_of_two_processes_at_once_are_all_counted(services: Services) -> None:
    await complete(services)
    async with process(services.settings) as other:
        links = await asyncio.gather(
            *(
                create_link((services, other)[number % 2], ACCOUNT, None, tags=[RED])
                for number in range(20)
            )
        )
        assert await counts(services) == {None: LinkCount(20), RED: LinkCount(20)}

        def change(number: int, link: Link) -> Any:
            changes: list[dict[str, Any]] = [{"active": False}, {"tags": [BLUE]}]
            changed = changes[number % 2]
            return (services, other)[number % 2].links.links.change(link.id, changed)

        await asyncio.gather(
            LinkRecount(services.stores.mongodb).correct(ACCOUNT),
            *starmap(change, enumerate(links)),
            *starmap(change, enumerate(reversed(links))),
        )
    assert await counts(services) == {None: LinkCount(0, 20), BLUE: LinkCount(0, 20)}


async def test_a_list_has_its_total_from_the_counts_once_they_are_complete(
    services: Services,
) -> None:
    totals = [
        (LinkFilter(), 4),
        (LinkFilter(active=False), 1),
        (LinkFilter(archived=True), 1),
        (LinkFilter(tags=[RED]), 2),
        (LinkFilter(tags=[RED], active=True), 1),
        (LinkFilter(tags=[BLUE], archived=True), 1),
        (LinkFilter(tags=[OTHER]), 0),
    ]
    [*_, last] = await made(services, [RED], [], [], [BLUE])
    await create_link(services, ACCOUNT, tags=[RED], active=False)
    await services.links.links.change(last.id, {"archived": True})
    for wanted, total in totals:
        links, counted, _ = await services.links.lists.page(ACCOUNT, wanted, 1, 25)
        assert (len(links), counted) == (total, Total(total))
    await complete(services)
    for wanted, total in totals:
        # Nothing but the counts knows of this link.
        key = CountKey(ACCOUNT, wanted.tags[0] if wanted.tags else None)
        state = state_of(wanted.archived, wanted.active is not False)
        part = {"_id": {**key._asdict(), "part": 99}}
        await services.stores.mongodb["link_counts"].insert_one({**part, state: 1})
        links, counted, _ = await services.links.lists.page(ACCOUNT, wanted, 1, 25)
        assert (len(links), counted) == (total, Total(total + 1))
        await services.stores.mongodb["link_counts"].delete_one(part)


async def test_tags_are_counted_before_and_after_the_counts_are_complete(
    services: Services,
) -> None:
    await made(services, [RED], [RED, BLUE])
    [last] = await made(services, [BLUE])
    await services.links.links.change(last.id, {"archived": True})
    count: Callable[[], Any] = lambda: services.links.links.count_by_tag(ACCOUNT, [RED, BLUE])  # noqa: E731
    assert await count() == {RED: 2, BLUE: 1}
    await complete(services)
    assert await count() == {RED: 2, BLUE: 1}
