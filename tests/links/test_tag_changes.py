"""A change of tags is announced before it is made: until it has ended, no version is valid."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.factories import create_link
from tracker.clock import now
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.links.tags import CHANGE_TIME, version_of_tags
from tracker.service.services import Services

Change = Callable[[Services, Link, UUID], Awaitable[object]]


async def change(services: Services, link: Link, tag_id: UUID) -> None:
    await services.links.links.change(link.id, {"tags": [new_id()]})


async def change_all(services: Services, link: Link, tag_id: UUID) -> None:
    await services.links.links.change_all([link], lambda one: {"tags": [new_id()]}, _nothing)


async def _nothing(*_: object) -> None:
    pass


async def untag(services: Services, link: Link, tag_id: UUID) -> None:
    await services.links.links.untag(link.account_id, tag_id)


async def version(services: Services, account_id: UUID, after: timedelta) -> int | None:
    return await version_of_tags(services.stores.mongodb.reads, account_id, now() + after)


@pytest.mark.parametrize("make", [change, change_all, untag])
async def test_a_change_has_no_version_until_it_has_ended_and_then_a_new_one(
    services: Services, make: Change
) -> None:
    tag_id = new_id()
    link = await create_link(services, new_id(), tags=[tag_id])
    at_first = await version(services, link.account_id, timedelta(0))
    for _ in range(2):
        before = await version(services, link.account_id, CHANGE_TIME)
        await make(services, link, tag_id)
        assert await version(services, link.account_id, timedelta(0)) is None
        after = await version(services, link.account_id, 2 * CHANGE_TIME)
        assert after is not None
        assert after not in (before, at_first)
    assert await version(services, new_id(), timedelta(0)) == at_first


async def test_a_change_of_other_fields_is_none_of_tags(services: Services) -> None:
    link = await create_link(services, new_id(), tags=[new_id()])
    before = await version(services, link.account_id, timedelta(0))
    await services.links.links.change(link.id, {"internal_name": "Other"})
    same: dict[str, Any] = {"active": False, "tags": link.tags}
    await services.links.links.change_all([link], lambda one: same, _nothing)
    assert await version(services, link.account_id, timedelta(0)) == before
