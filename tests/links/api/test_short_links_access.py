"""Access to the domains and tags of a new short link, and the order of checks."""

from tests.links.api.short_links import create
from tests.web.world import World
from tracker.ids import new_id


async def test_domains_and_tags_of_another_account_are_forbidden(world: World) -> None:
    domain = await world.services.links.domains.create(world.other_account.id, "go.example")
    tag = await world.services.links.tags.create(world.other_account.id, "foreign")
    for fields in ({"domain_id": str(domain.id)}, {"tags": [str(tag.id)]}):
        response = await create(world, **fields)
        assert response.status == 403
        assert response.error == f"{next(iter(fields))}: belongs to another account"


async def test_domains_and_tags_that_do_not_exist_are_not_found(world: World) -> None:
    tag, missing = await world.services.links.tags.create(world.account.id, "own"), str(new_id())
    response = await create(world, domain_id=missing)
    assert (response.status, response.error) == (404, f"domain_id: not found: {missing}")
    tags = [str(tag.id), missing]
    response = await create(world, tags=tags)
    assert (response.status, response.error) == (404, f"tags: not found: {missing}")
