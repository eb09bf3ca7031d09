"""A typo in a macro of a destination is refused before any visitor is sent there."""

from tests.factories import create_link
from tests.web.world import World

PATH = "/api/short-links"
OLD = "https://shop.example/?c={clickid}"
UNKNOWN = "destination_url: unknown macro {clickid} (did you mean {click_id}?); known: {click_id} "


async def test_a_new_link_with_an_unknown_macro_is_refused(world: World) -> None:
    refused = await world.api.post(PATH, accountId=str(world.account.id), destination_url=OLD)
    assert (refused.status, refused.error[: len(UNKNOWN)]) == (400, UNKNOWN)
    assert await world.services.stores.mongodb["links"].count_documents({}) == 0


async def test_one_unknown_macro_refuses_all_links_of_a_request_and_names_the_row(
    world: World,
) -> None:
    urls = [f"https://shop.example/?c={{{name}}}" for name in ("slug", "sulg")]
    links = [{"destination_url": url} for url in urls]
    refused = await world.api.post(f"{PATH}/bulk", accountId=str(world.account.id), links=links)
    assert refused.status == 400
    assert refused.error.startswith(
        "links[1].destination_url: unknown macro {sulg} (did you mean {slug}?); known: "
    )
    assert await world.services.stores.mongodb["links"].count_documents({}) == 0


async def test_a_link_that_has_an_unknown_macro_already_redirects_as_before(world: World) -> None:
    await create_link(world.services, world.account.id, "old", OLD)
    location = (await world.client.get("/c/old")).headers["Location"]
    assert location.startswith("https://shop.example/?c={clickid}&click_id=")


async def test_such_a_link_may_change_in_all_but_a_new_destination_with_one(world: World) -> None:
    path = f"{PATH}/{(await create_link(world.services, world.account.id, destination_url=OLD)).id}"
    changed = await world.api.patch(path, internal_name="Renamed", destination_url=OLD)
    assert (changed.status, changed.json()["internal_name"]) == (200, "Renamed")
    assert (await world.api.patch(path, active=False)).status == 200
    refused = await world.api.patch(path, destination_url=f"{OLD}&a=1", internal_name="No")
    assert (refused.status, refused.error[: len(UNKNOWN)]) == (400, UNKNOWN)
    shown = (await world.api.get(path)).json()
    assert (shown["destination_url"], shown["internal_name"]) == (OLD, "Renamed")
    corrected = await world.api.patch(path, destination_url="https://shop.example/?c={click_id}")
    assert corrected.status == 200
