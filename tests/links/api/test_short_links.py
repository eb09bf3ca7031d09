"""Creating short links over HTTP: every rule and the answer."""

import re
from typing import Any
from uuid import UUID

from tests.factories import LANDING
from tests.links.api.short_links import create
from tests.web.each import each_case
from tests.web.world import World
from tracker.clock import iso, now
from tracker.ids import SLUG_ALPHABET
from tracker.links.api.short_link_record import ShortLink
from tracker.links.api.short_link_schema import ChangeShortLink, NewShortLink
from tracker.links.destination import OWN_REDIRECT

# With the invisible joiners that both need.
PERSIAN_AND_A_FAMILY = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469"


async def test_the_required_fields_are_enough_for_a_link_that_redirects(world: World) -> None:
    before = now()
    response = await create(world)
    assert response.status == 200
    link = response.json()
    assert link["id"] == str(UUID(link["id"]))
    assert link["internal_name"] == "example.com/landing"
    assert len(link["slug"]) == 7
    assert set(link["slug"]) <= set(SLUG_ALPHABET)
    assert (link["destination_url"], link["domain_name"]) == (LANDING, "tracker.test")
    assert (link["active"], link["tags"]) == (True, [])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", link["created_at"])
    assert iso(before) <= link["created_at"] <= iso(now())
    assert link["short_url"] == f"http://tracker.test/c/{link['slug']}"
    assert (await world.client.get(f"/c/{link['slug']}")).status == 302


def test_what_is_given_is_shown_and_but_for_slug_and_domain_can_be_changed() -> None:
    given = set(NewShortLink.__struct_fields__)
    assert given - {"password"} <= set(ShortLink.__struct_fields__)
    assert given - {"slug", "domain_id"} == set(ChangeShortLink.__struct_fields__)


async def test_every_field_of_a_new_link_is_stored(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    tags = [await world.services.links.tags.create(world.account.id, name) for name in ("b", "a")]
    response = await create(
        world,
        destination_url="\u200bhttps://example.com/caf\u00e9?k={click_id}#f\u202e\n",
        internal_name=f"  {PERSIAN_AND_A_FAMILY} \u200e",
        slug="\ufeffMy-Slug_1\u2060",
        domain_id=str(domain.id),
        tags=[str(tags[0].id), str(tags[1].id), str(tags[0].id)],
    )
    link = response.json()
    assert link["destination_url"] == "https://example.com/caf\u00e9?k={click_id}#f"
    assert link["internal_name"] == PERSIAN_AND_A_FAMILY
    assert (link["slug"], link["domain_name"]) == ("My-Slug_1", "go.example")
    assert link["tags"] == [{"id": str(tag.id), "name": tag.name} for tag in tags]
    assert link["short_url"] == "http://go.example/c/My-Slug_1"
    assert (await world.client.get("/c/My-Slug_1", Host="go.example")).status == 302
    assert (await world.client.get("/c/My-Slug_1")).status == 404


@each_case(
    "url, name",
    [
        ("https://example.com", "example.com"),
        ("https://example.com/?q=1#f", "example.com"),
        ("https://Example.com:8080/a/b/", "Example.com:8080/a/b"),
        (f"https://example.com/{'a' * 1000}", "example.com/" + "a" * 243),
        ("https://[::1]/x", "[::1]/x"),
    ],
)
async def test_a_link_is_named_after_its_destination(world: World, url: str, name: str) -> None:
    response = await create(world, destination_url=url)
    assert response.json()["internal_name"] == name


BROKEN_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"accountId": "x"}, "accountId: must be a UUID such as"),
    ({"destination_url": ""}, "destination_url: must be an absolute http or https URL"),
    ({"destination_url": "https://x.test/a\r\nb"}, "destination_url: no control characters"),
    (
        {"destination_url": "https://x\u200b.test/"},
        "destination_url: has an invisible character (U+200B ZERO WIDTH SPACE)",
    ),
    ({"destination_url": f"https://x.test/{'a' * 2034}"}, "destination_url: at most 2048"),
    ({"internal_name": ""}, "internal_name: 1 to 255 characters"),
    ({"internal_name": "a" * 256}, "internal_name: 1 to 255 characters"),
    ({"internal_name": "a\nb"}, "internal_name: 1 to 255 characters"),
    ({"slug": ""}, "slug: 1 to 64 of A-Z a-z 0-9 _ -"),
    ({"slug": "a" * 65}, "slug: 1 to 64 of A-Z a-z 0-9 _ -"),
    ({"slug": "ab\u200bc"}, "slug: 1 to 64 of A-Z a-z 0-9 _ -"),
    ({"domain_id": "go.example"}, "domain_id: must be a UUID such as"),
    ({"tags": ["a"]}, "tags[0]: must be a UUID such as"),
    ({"tags": [str(UUID(int=one)) for one in range(101)]}, "tags: must be a list of at most 100"),
    ({"slgu": "abc"}, "slgu: unknown field"),
]


@each_case("fields, error", BROKEN_FIELDS)
async def test_a_broken_rule_is_named_with_its_field(
    world: World, fields: dict[str, Any], error: str
) -> None:
    response = await create(world, **fields)
    assert response.status == 400
    assert response.error.startswith(error)
    assert await world.services.stores.mongodb["links"].count_documents({}) == 0


async def test_a_slug_that_was_just_unknown_works_once_its_link_exists(world: World) -> None:
    assert (await world.client.get("/c/fresh")).status == 404
    await create(world, slug="fresh")
    assert (await world.client.get("/c/fresh")).status == 302


async def test_a_destination_that_is_a_redirect_of_this_service_is_rejected(world: World) -> None:
    await world.services.links.domains.create(world.account.id, "go.example")
    for url, status in (
        ("http://TRACKER.test.:80/c/abc", 400),
        ("https://tracker.test/c/abc", 400),
        ("http://tracker.test/api/click?s=abc", 400),
        ("https://GO.example:8443/c/abc", 400),
        ("http://tracker.test/about", 200),
        ("http://tracker.test:3000/c/abc", 200),
        ("http://other.example/c/abc", 200),
        ("http://go.example/landing", 200),
    ):
        response = await create(world, destination_url=url)
        assert response.status == status, url
        assert status == 200 or response.error == f"destination_url: {OWN_REDIRECT}"
