"""Whether a slug is available, as people are told while they type it."""

from urllib.parse import urlencode

from tests.factories import create_link
from tests.web.client import Response
from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.ids import new_id

FREE = {"available": True, "reason": None}
TAKEN = {"available": False, "reason": "already taken"}


async def ask(api: KeyedClient, account: Account, **query: object) -> Response:
    return await api.get(
        f"/api/short-links/available?{urlencode({'accountId': account.id, **query})}"
    )


async def test_a_slug_is_taken_by_any_link_of_its_domain_archived_ones_included(
    world: World,
) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    await create_link(world.services, world.other_account.id, "theirs")
    gone = await create_link(world.services, world.account.id, "gone")
    await world.services.links.links.change(gone.id, {"archived": True})
    await create_link(world.services, world.account.id, "ours", domain=domain)
    for slug, on_default, on_domain in (
        ("free", FREE, FREE),
        ("theirs", TAKEN, FREE),
        ("\u200btheirs\n", TAKEN, FREE),
        ("Theirs", FREE, FREE),
        ("gone", TAKEN, FREE),
        ("ours", FREE, TAKEN),
    ):
        assert (await ask(world.api, world.account, slug=slug)).json() == on_default
        assert (
            await ask(world.api, world.account, slug=slug, domain_id=domain.id)
        ).json() == on_domain


@each_case("slug", ["", "a.b", "a b", "a" * 65, "\u00e4", "a/b", "a\u200bb"])
async def test_a_slug_that_no_link_can_have_is_not_available(world: World, slug: str) -> None:
    response = await ask(world.api, world.account, slug=slug)
    expected = {"available": False, "reason": "1 to 64 of A-Z a-z 0-9 _ -"}
    assert (response.status, response.json()) == (200, expected)


async def test_the_domain_has_to_be_the_accounts_own(world: World) -> None:
    foreign = await world.services.links.domains.create(world.other_account.id, "go.example")
    for domain_id, status, error in (
        (foreign.id, 403, "domain_id: belongs to another account"),
        (new_id(), 404, "domain_id: not found"),
        ("x", 400, "domain_id: must be a UUID such as 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"),
    ):
        response = await ask(world.api, world.account, slug="abc", domain_id=domain_id)
        assert (response.status, response.error) == (status, error)
    missing = await ask(world.api, world.account)
    assert (missing.status, missing.error) == (400, "slug: required")
