"""The clicks that led to others: in feeds, files and filters, and the way of a click."""

import csv
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from tests.conversions.scene import applied
from tests.factories import AT_MS, create_link, make_click, make_conversion
from tests.web.client import Response
from tests.web.person import signed_in
from tests.web.world import World
from tracker.access.roles import Role
from tracker.clicks.click import Click
from tracker.ids import new_id

Send = Callable[..., Awaitable[Response]]


async def way(world: World, length: int, tags: tuple[UUID, ...] = ()) -> list[Click]:
    """Store clicks of which each has led to the next one, and a conversion of the last.

    Each has a link of its own; those with even numbers have `tags`.
    """
    clicks: list[Click] = []
    for number in range(length):
        link = await create_link(
            world.services, world.account.id, f"s{number}", tags=[] if number % 2 else list(tags)
        )
        query = f"click_id={text_of(clicks[-1])}" if clicks else ""
        at = AT_MS + 1000 * number
        clicks.append(make_click(world.account.id, link_id=link.id.bytes, at=at, query=query))
    last = make_conversion(1, clicks[-1].id, account_id=world.account.id.bytes)
    await applied(world.services, [*clicks, last])
    return clicks


def text_of(click: Click) -> str:
    return str(UUID(bytes=click.id))


async def answer(send: Send, world: World, path: str, query: str = "") -> dict[str, Any]:
    response = await send("GET", f"{path}?accountId={world.account.id}{query}")
    assert response.status == 200, response.body
    found: dict[str, Any] = response.json()
    return found


async def test_rows_and_files_name_the_click_before_and_its_link(world: World) -> None:
    first, second = await way(world, 2)
    waiting = make_click(world.account.id, query=f"click_id={new_id()}", at=AT_MS)
    await applied(world.services, [waiting])
    link = str(UUID(bytes=first.link_id))
    rows = (await answer(world.api.send, world, "/api/clicks"))["rows"]
    assert {row["id"]: (row["parent_click_id"], row["parent_link_id"]) for row in rows} == {
        text_of(first): (None, None),
        text_of(second): (text_of(first), link),
        text_of(waiting): (None, None),
    }
    [conversion] = (await answer(world.api.send, world, "/api/conversions"))["rows"]
    assert conversion["parent_link_id"] == link
    for path in ("/api/clicks", "/api/conversions"):
        text = (await world.api.get(f"{path}/export?accountId={world.account.id}")).body.decode()
        assert link in {row["parent_link_id"] for row in csv.DictReader(text.split("\n"))}, path


async def test_filters_take_ids_none_and_unknown(world: World) -> None:
    first, second = await way(world, 2)
    alone = make_conversion(2, account_id=world.account.id.bytes)
    await applied(
        world.services, [alone, make_conversion(3, first.id, account_id=first.account_id)]
    )
    for query, clicks, conversions in (
        (f"&parent_link={UUID(bytes=first.link_id)}", 1, 1),
        (f"&parent_link={UUID(bytes=second.link_id)}", 0, 0),
        ("&parent_link=none", 1, 1),
        ("&parent_link=unknown", 0, 1),
    ):
        found = [
            len((await answer(world.api.send, world, path, query))["rows"])
            for path in ("/api/clicks", "/api/conversions")
        ]
        assert found == [clicks, conversions], query


async def test_a_click_is_found_with_ten_clicks_before_and_after_it(world: World) -> None:
    clicks = list(map(text_of, await way(world, 23)))
    found = await answer(world.api.send, world, "/api/find", f"&q={clicks[11]}")
    assert [one["id"] for one in found["earlier"]] == clicks[1:11]
    assert [one["id"] for one in found["later"]] == clicks[12:22]
    foreign = make_click(world.other_account.id, query=f"click_id={clicks[22]}", at=AT_MS + 10**6)
    await applied(world.services, [foreign])
    found = await answer(world.api.send, world, "/api/find", f"&q={clicks[22]}")
    assert (len(found["earlier"]), found["later"]) == (10, [])


async def test_limited_members_see_the_clicks_of_their_links_alone(world: World) -> None:
    tag = (await world.services.links.tags.create(world.account.id, "Mine")).id
    clicks = list(map(text_of, await way(world, 5, (tag,))))
    role = Role.VIEWER
    person = await signed_in(world.services, world.client, world.account.id, role, tags=(tag,))
    found = await answer(person.send_raw, world, "/api/find", f"&q={clicks[2]}")
    assert [one["id"] for one in found["earlier"]] == clicks[:1]
    assert [one["id"] for one in found["later"]] == clicks[4:]
