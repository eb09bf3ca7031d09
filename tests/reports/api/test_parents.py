"""Reports by the links whose clicks led to others."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import orjson

from tests.conversions.scene import applied
from tests.factories import AT_MS, create_link, make_click, make_conversion
from tests.sharing.api.shares import REPORT, create
from tests.web.client import Response
from tests.web.person import signed_in
from tests.web.world import World
from tracker.access.roles import Role
from tracker.clicks.click import Click
from tracker.clock import day_of, moment
from tracker.reports.dimensions import DOCUMENT_KINDS as KINDS
from tracker.reports.joint_counts.fingerprints import Fingerprints
from tracker.reports.joint_counts.scope import scope_of
from tracker.reports.periods import day_period, hours_of

Send = Callable[..., Awaitable[Response]]
DAYS = dict.fromkeys(("from", "to"), day_of(moment(AT_MS)))
HOUR_MS = 3_600_000


async def lander_and_offer(world: World, tag: UUID) -> tuple[Click, Click]:
    """Create two links, the second with a tag; return a click of the first that led to it."""
    lander, offer = [
        await create_link(
            world.services, world.account.id, internal_name=name, slug=name, tags=tags
        )
        for name, tags in (("lander", []), ("offer", [tag]))
    ]
    first = make_click(world.account.id, link_id=lander.id.bytes)
    query = f"click_id={UUID(bytes=first.id)}"
    second = make_click(
        world.account.id, link_id=offer.id.bytes, query=query, at=AT_MS + 1000, address="1.1.1.1"
    )
    return first, second


async def a_tag(world: World) -> UUID:
    return (await world.services.links.tags.create(world.account.id, "Mine")).id


async def rows(send: Send, world: World, by: Any, **fields: Any) -> dict[str, tuple[int, int]]:
    """Return the clicks and conversions of each row, by its name, and their totals."""
    body = {"accountId": str(world.account.id), "dateRange": DAYS, "groupBy": by, **fields}
    answer = await send("POST", "/api/reports", orjson.dumps(body))
    assert answer.status == 200, answer.body
    found = answer.json()
    every = [*found["rows"], found["totals"] | {"name": "totals"}]
    return {row["name"]: (row["clicks"], row["conversions"]) for row in every}


async def test_a_conversion_counts_for_its_link_and_the_parent_and_once_in_totals(
    world: World,
) -> None:
    lander, offer = await lander_and_offer(world, await a_tag(world))
    own = {"account_id": offer.account_id}
    records = [make_conversion(1, offer.id, **own), make_conversion(2, None, **own)]
    await applied(world.services, [lander, offer, *records])
    assert await rows(world.api.send, world, "parent_link") == {
        "lander": (1, 1),
        "No parent link": (1, 0),
        "No click": (0, 1),
        "totals": (2, 2),
    }
    assert await rows(world.api.send, world, "link") == {
        "lander": (1, 0),
        "offer": (1, 1),
        "No click": (0, 1),
        "totals": (2, 2),
    }
    of_lander = {"filters": {"parent_link": str(UUID(bytes=lander.link_id))}}
    assert await rows(world.api.send, world, ["link", "country"], **of_lander) == {
        "offer": (1, 1),
        "totals": (1, 1),
    }


async def test_a_parent_that_is_stored_late_outdates_the_counts_of_its_hour_and_day_alone(
    world: World,
) -> None:
    services = world.services
    before = await lander_and_offer(world, await a_tag(world))
    await applied(services, before)  # the account's reports have the column from now on
    lander = make_click(world.account.id, link_id=before[0].link_id)
    query = f"click_id={UUID(bytes=lander.id)}"
    offer, later = [
        make_click(world.account.id, link_id=before[1].link_id, query=text, at=at)
        for text, at in ((query, AT_MS + 2000), ("", AT_MS + HOUR_MS))
    ]
    await applied(services, [offer, later, make_conversion(1, offer.id)])
    crossed = {"filters": {"browser": "Chrome"}}
    assert (await rows(world.api.send, world, "parent_link", **crossed))["lander"] == (1, 0)
    marks = await fingerprints(world)
    await applied(services, [lander])
    assert await rows(world.api.send, world, "parent_link", **crossed) == {
        "lander": (2, 1),
        "No parent link": (3, 0),
        "totals": (5, 1),
    }
    assert [one == other for one, other in zip(marks, await fingerprints(world), strict=True)] == [
        *(False, False, True),
        *(False, False, True),
    ]


async def fingerprints(world: World) -> list[list[int]]:
    """Return those of the clicks and conversions of the day, of its hour, and of the next hour."""
    reads, at = world.services.stores.mongodb.reads, moment(AT_MS)
    scope = await scope_of(reads, world.account.id)
    hours = hours_of(scope.calendar, at.date())
    periods = [day_period(scope.calendar, at.date()), hours[at.hour], hours[at.hour + 1]]
    read = Fingerprints(reads, scope.rollups())
    await read.read(periods)
    # The late click itself adds to the counts.
    return [read.of(one).of(of)[1 if of == "events" else 3 :] for of in KINDS for one in periods]


async def test_only_accounts_with_a_parent_have_the_column(world: World) -> None:
    reads = world.services.stores.mongodb.reads
    lander, offer = await lander_and_offer(world, await a_tag(world))
    await applied(world.services, [offer])
    assert (await scope_of(reads, world.account.id)).extra == ()
    await applied(world.services, [lander])
    assert (await scope_of(reads, world.account.id)).extra == ("parent_link",)


async def test_limited_members_see_no_names_of_parents_outside_their_tags(world: World) -> None:
    tag = await a_tag(world)
    lander, offer = await lander_and_offer(world, tag)
    await applied(world.services, [lander, offer])
    person = await signed_in(
        world.services, world.client, world.account.id, Role.VIEWER, tags=(tag,)
    )
    shown = str(UUID(bytes=lander.link_id))
    for by in ("parent_link", ["parent_link", "country"]):
        assert await rows(person.send_raw, world, by) == {shown: (1, 0), "totals": (1, 0)}
    assert await rows(person.send_raw, world, "parent_link", search="land") == {"totals": (1, 0)}


async def test_a_share_without_names_of_links_has_no_parents(world: World) -> None:
    panel, table = {"groupBy": "parent_link"}, {"groupBy": ["country", "parent_link"]}
    for name, used in (
        ("panels", [panel]),
        ("tables", [table]),
        ("filters", {"parent_link": {"is_not": ["none"]}}),
    ):
        report = {**REPORT, name: used}
        answer = await create(world.api, world.account, report=report)
        assert answer.status == 400, answer.body
        assert f"report.{name}: parent_link only with show_link_names" in answer.error
        answer = await create(world.api, world.account, report=report, show_link_names=True)
        assert answer.status == 200, answer.body
