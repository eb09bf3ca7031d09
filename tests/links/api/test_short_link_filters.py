"""Listing short links by tags, text and state."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson

from tests.factories import create_link
from tests.web.link_list import Query, encoded, listed, slugs
from tests.web.world import World
from tracker.clock import now
from tracker.ids import new_id

SPELLINGS: dict[str, Callable[[list[str]], Query]] = {
    "repeated": lambda ids: [("selectedTags", one) for one in ids],
    "repeated with brackets": lambda ids: [("selectedTags[]", one) for one in ids],
    "with indexes": lambda ids: [(f"selectedTags[{n}]", one) for n, one in enumerate(ids)],
    "comma list": lambda ids: {"selectedTags": ",".join(ids)},
    "comma list with spaces": lambda ids: {"selectedTags": f" {' , '.join(ids)} ,"},
    "JSON array": lambda ids: {"selectedTags": orjson.dumps(ids).decode()},
    "mixed": lambda ids: [("selectedTags", ids[0]), ("selectedTags[]", ",".join(ids[1:]))],
    "upper case": lambda ids: {"selectedTags": ",".join(ids).upper()},
    "said twice": lambda ids: [("selectedTags", one) for one in ids * 2],
}


async def test_links_of_any_or_of_all_selected_tags_are_found(world: World) -> None:
    a, b, c = [await world.services.links.tags.create(world.account.id, name) for name in "abc"]
    for slug, tags in (
        ("a", [a.id]),
        ("b", [b.id, c.id]),
        ("c", [c.id]),
        ("none", []),
        ("both", [b.id, a.id]),
    ):
        await create_link(world.services, world.account.id, slug, tags=tags)
    off: dict[str, Any] = {"tags": [a.id, b.id, c.id], "active": False}
    await create_link(world.services, world.account.id, "both-inactive", **off)
    for spelling in SPELLINGS.values():
        query = encoded(spelling([str(a.id), str(b.id)]))
        for operator, found in (
            ("", ["both-inactive", "both", "b", "a"]),
            ("&tagOperator=AND", ["both-inactive", "both"]),
            ("&tagOperator=AND&active=true", ["both"]),
            # Links to example.com/landing under the name "A link" have no "b".
            ("&tagOperator=OR&search=B", ["both-inactive", "both", "b"]),
        ):
            assert await slugs(world, query + operator) == found, query


async def test_a_tag_that_no_link_of_the_account_has_finds_none(world: World) -> None:
    foreign = await world.services.links.tags.create(world.other_account.id, "foreign")
    await create_link(world.services, world.other_account.id, "not-ours", tags=[foreign.id])
    own = await world.services.links.tags.create(world.account.id, "own")
    await create_link(world.services, world.account.id, "ours", tags=[own.id])
    assert await slugs(world, {"selectedTags": foreign.id}) == []
    assert await slugs(world, {"selectedTags": new_id()}) == []
    both = f"selectedTags={own.id},{foreign.id}"
    assert await slugs(world, both) == ["ours"]
    assert await slugs(world, f"{both}&tagOperator=AND") == []


async def test_a_search_is_for_words_by_their_beginnings_in_any_case(world: World) -> None:
    """The words themselves are tested without stores."""
    by_url = {"destination_url": "https://shop.example/p?q={slug}", "internal_name": "x"}
    await create_link(world.services, world.account.id, "by-URL", **by_url)
    name = "Spring Caf\u00e9 \u00fcber 100% off* (for $9) #x \\o/"
    await create_link(world.services, world.account.id, "by-name", internal_name=name)
    for text, found in (
        ("by-", ["by-name", "by-URL"]),
        ("https://shop.example/P?q", ["by-URL"]),
        ("https://shop.example/q", []),
        ("\u00fcb spr", ["by-name"]),
        ("$internal_name", []),
        ("#x", ["by-name", "by-URL"]),
        ("\U0001f468" * 2048, []),
    ):
        assert await slugs(world, {"search": text}) == found, text


async def test_links_are_filtered_by_their_state_and_archived_ones_are_a_list_of_their_own(
    world: World,
) -> None:
    for slug in ("on", "off", "gone", "gone-off"):
        link = await create_link(world.services, world.account.id, slug, active="off" not in slug)
        if "gone" in slug:
            await world.services.links.links.change(link.id, {"archived": True})
    for query, found in (
        ("", ["off", "on"]),
        ("active=true", ["on"]),
        ("active=1", ["on"]),
        ("active=False", ["off"]),
        ("archived=false", ["off", "on"]),
        ("archived=1", ["gone-off", "gone"]),
        ("archived=true&active=true", ["gone"]),
    ):
        assert await slugs(world, query) == found
        assert (await listed(world, query)).json()["pagination"]["totalRows"] == len(found)


async def test_links_are_found_by_their_state_in_every_order(world: World) -> None:
    day = timedelta(days=1)
    windows: dict[str, dict[str, Any]] = {
        "plain": {},
        "over": {"expires_at": now() - day},
        "Ended": {"starts_at": now() - 2 * day, "expires_at": now() - day},
        "open": {"starts_at": now() - day, "expires_at": now() + day},
        "later": {"starts_at": now() + day, "expires_at": now() + 2 * day},
        "off": {"expires_at": now() - day, "active": False},
        "Known": {"password_hash": "x"},
        "known-late": {"password_hash": "y", "starts_at": now() + day},
    }
    for slug, options in windows.items():
        await create_link(world.services, world.account.id, slug, **options)
    for query, found in (
        ("state=scheduled", ["known-late", "later"]),
        ("state=protected", ["known-late", "Known"]),
        ("state=protected&sort=oldest", ["Known", "known-late"]),
        ("state=protected&sort=slug", ["Known", "known-late"]),
        ("state=protected&sort=name&search=late", ["known-late"]),
        ("state=protected&archived=true", []),
        ("state=expired", ["off", "Ended", "over"]),
        ("state=expired&sort=oldest", ["over", "Ended", "off"]),
        ("state=expired&sort=slug", ["Ended", "off", "over"]),
        ("state=expired&active=true", ["Ended", "over"]),
        ("state=expired&active=false", ["off"]),
        ("state=expired&search=over", ["over"]),
        ("state=expired&slug=over", ["over"]),
        ("state=scheduled&archived=true", []),
    ):
        assert await slugs(world, query) == found, query
    refused = await listed(world, "state=none")
    assert (refused.status, "state" in refused.error) == (400, True)
