"""Listing short links by tags, text and state."""

from collections.abc import Callable

import orjson
import pytest

from tests.factories import create_link
from tests.web.link_list import Query, encoded, listed, slugs
from tests.web.world import World
from tracker.ids import new_id
from tracker.links.counts.recount import LinkRecount

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


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("operator", "found"),
    [
        ("", ["both-inactive", "both", "b", "a"]),
        ("&tagOperator=OR", ["both-inactive", "both", "b", "a"]),
        ("&tagOperator=AND", ["both-inactive", "both"]),
        ("&tagOperator=AND&active=true", ["both"]),
        ("&tagOperator=OR&search=B", ["both-inactive", "both", "b"]),
    ],
)
async def test_links_of_any_or_of_all_selected_tags_are_found(
    world: World,
    spelling: str,
    operator: str,
    found: list[str],
) -> None:
    a, b, c = [await world.services.links.tags.create(world.account.id, name) for name in "abc"]
    await create_link(world.services, world.account.id, "a", tags=[a.id])
    await create_link(world.services, world.account.id, "b", tags=[b.id, c.id])
    await create_link(world.services, world.account.id, "c", tags=[c.id])
    await create_link(world.services, world.account.id, "none")
    await create_link(world.services, world.account.id, "both", tags=[b.id, a.id])
    await create_link(
        world.services, world.account.id, "both-inactive", tags=[a.id, b.id, c.id], active=False
    )
    selected = SPELLINGS[spelling]([str(a.id), str(b.id)])
    query = encoded(selected)
    # Links to example.com/landing under the name "A link" have no "b".
    assert await slugs(world.client, world.secret, world.account, query + operator) == found


async def test_a_tag_that_no_link_of_the_account_has_finds_none(world: World) -> None:
    foreign = await world.services.links.tags.create(world.other_account.id, "foreign")
    await create_link(world.services, world.other_account.id, "not-ours", tags=[foreign.id])
    own = await world.services.links.tags.create(world.account.id, "own")
    await create_link(world.services, world.account.id, "ours", tags=[own.id])
    assert (
        await slugs(world.client, world.secret, world.account, {"selectedTags": foreign.id}) == []
    )
    assert await slugs(world.client, world.secret, world.account, {"selectedTags": new_id()}) == []
    both = f"selectedTags={own.id},{foreign.id}"
    assert await slugs(world.client, world.secret, world.account, both) == ["ours"]
    assert await slugs(world.client, world.secret, world.account, f"{both}&tagOperator=AND") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SPRING", ["by-name"]),
        ("pring", []),
        ("by-", ["by-name", "by-URL"]),
        ("url", ["by-URL"]),
        ("shop.example/P?q", ["by-URL"]),
        ("https://shop.example/P?q", ["by-URL"]),
        ("https://shop.example/q", []),
        ("caf\u00c9 \u00dcber", ["by-name"]),
        ("\u00fcb spr", ["by-name"]),
        ("spring shop", []),
        ("100% off", ["by-name"]),
        (".*", []),
        ("*", []),
        ("$internal_name", []),
        ("{slug}", ["by-URL"]),
        ("[a-z]", []),
        ("(", []),
        ("a|b", []),
        ("#x", ["by-name", "by-URL"]),
        ("null", []),
        (" ", []),
        ("\n", []),
        ("a" * 2048, []),
        ("\U0001f468" * 2048, []),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_search_is_for_words_by_their_beginnings_in_any_case(
    world: World, text: str, found: list[str]
) -> None:
    name = "Spring Caf\u00e9 \u00fcber 100% off* (for $9) #x \\o/"
    await create_link(
        world.services,
        world.account.id,
        "by-URL",
        destination_url="https://shop.example/p?q={slug}",
        internal_name="x",
    )
    await create_link(world.services, world.account.id, "by-name", internal_name=name)
    query = {"search": text}
    assert await slugs(world.client, world.secret, world.account, query) == found
    await LinkRecount(world.services.stores.mongodb).correct(world.account.id)
    assert await slugs(world.client, world.secret, world.account, query) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["off", "on"]),
        ("active=true", ["on"]),
        ("active=True", ["on"]),
        ("active=1", ["on"]),
        ("active=false", ["off"]),
        ("active=0", ["off"]),
    ],
)
async def test_links_are_filtered_by_their_state_and_archived_ones_are_not_listed(
    world: World, query: str, found: list[str]
) -> None:
    for slug in ("on", "off", "gone", "gone-off"):
        link = await create_link(world.services, world.account.id, slug, active="off" not in slug)
        if "gone" in slug:
            await world.services.links.links.change(link.id, {"archived": True})
    assert await slugs(world.client, world.secret, world.account, query) == found
    totals = (
        await listed(world.client, world.secret, f"accountId={world.account.id}&{query}")
    ).json()["pagination"]
    assert totals["totalRows"] == len(found)
