"""Access to the domains and tags of a new short link, and the order of checks."""

from typing import Any

from tests.factories import create_link
from tests.links.api.short_links import create
from tests.web.world import World
from tracker.ids import new_id


async def test_domains_and_tags_of_another_account_are_forbidden(world: World) -> None:
    domain = await world.services.links.domains.create(world.other_account.id, "go.example")
    tag = await world.services.links.tags.create(world.other_account.id, "foreign")
    for fields in ({"domain_id": str(domain.id)}, {"tags": [str(tag.id)]}):
        response = await create(
            world.client, world.secret, accountId=str(world.account.id), **fields
        )
        assert response.status == 403
        assert response.error == f"{next(iter(fields))}: belongs to another account"


async def test_domains_and_tags_that_do_not_exist_are_not_found(world: World) -> None:
    tag, missing = await world.services.links.tags.create(world.account.id, "own"), str(new_id())
    response = await create(
        world.client, world.secret, accountId=str(world.account.id), domain_id=missing
    )
    assert (response.status, response.error) == (404, f"domain_id: not found: {missing}")
    tags = [str(tag.id), missing]
    response = await create(world.client, world.secret, accountId=str(world.account.id), tags=tags)
    assert (response.status, response.error) == (404, f"tags: not found: {missing}")


async def test_the_order_of_checks_is_key_body_access_existence(world: World) -> None:
    foreign = await world.services.links.tags.create(world.other_account.id, "foreign")
    _, reading = await world.services.access.api_keys.create(
        world.account.id, "reading", ["links:read"]
    )
    await create_link(world.services, world.account.id, "taken")
    fields: dict[str, Any] = {
        "accountId": str(world.other_account.id),
        "slug": "?",
        "domain_id": str(new_id()),
        "tags": [str(foreign.id)],
    }

    async def status(key: str, **changed: Any) -> int:
        fields.update(changed)
        return (await create(world.client, key, **fields)).status

    assert await status("trk_unknown") == 401
    assert await status(world.secret) == 400
    assert await status(world.secret, slug="taken") == 403
    assert await status(reading, accountId=str(world.account.id)) == 403
    assert await status(world.secret) == 403
    assert await status(world.secret, tags=[]) == 404
    assert await status(world.secret, domain_id=None) == 400
