"""A page of a list comes with the total."""

from uuid import UUID

import msgspec

from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.order import OLDEST_FIRST
from tracker.stores.mongodb.paging import Pages


class Thing(msgspec.Struct, frozen=True):
    """A listed document."""

    id: UUID
    owner_id: UUID | None
    marks: list[UUID]


async def fill(services: Services, count: int) -> list[Thing]:
    things = [Thing(new_id(), new_id(), [new_id(), new_id()]) for _ in range(count)]
    rows = [{"_id": one.id, "owner_id": one.owner_id, "marks": one.marks} for one in things]
    await services.stores.mongodb["things"].insert_many(rows)
    return things


def pages(services: Services) -> Pages[Thing]:
    return Pages(services.stores.mongodb.reads, "things", Thing)


async def test_a_page_has_its_part_of_the_list_and_the_total(services: Services) -> None:
    things = await fill(services, 5)
    listed = pages(services)
    assert await listed.find({}, 1, 2) == (things[:2:-1], 5)
    assert await listed.find({}, 3, 2, OLDEST_FIRST) == (things[4:], 5)
    assert await listed.find({}, 4, 2) == ([], 5)
    assert await listed.find({"owner_id": None}, 1, 2) == ([], 0)


async def test_a_filter_may_have_ids_at_any_depth(services: Services) -> None:
    first, second, _ = await fill(services, 3)
    anyone = {"$or": [{"owner_id": first.owner_id}, {"marks": {"$in": [second.marks[1]]}}]}
    assert await pages(services).find(anyone, 1, 9) == ([second, first], 2)


async def test_things_are_looked_up_by_their_ids(services: Services) -> None:
    things = await fill(services, 120)
    listed = pages(services)
    found = await listed.by_ids([new_id(), *(one.id for one in things)])
    assert found == {one.id: one for one in things}
    assert await listed.by_ids([]) == await listed.by_ids([new_id()]) == {}
    assert await listed.by_id(things[0].id) == things[0]
    assert await listed.by_id(new_id()) is None
