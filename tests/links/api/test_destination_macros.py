"""A typo in a macro of a destination is refused before any visitor is sent there."""

from tests.factories import create_link
from tests.web.client import Client
from tests.web.keyed_client import KeyedClient
from tracker.accounts.accounts import Account
from tracker.service.services import Services

PATH = "/api/short-links"
OLD = "https://shop.example/?c={clickid}"
UNKNOWN = "destination_url: unknown macro {clickid} (did you mean {click_id}?); known: {click_id} "


async def test_a_new_link_with_an_unknown_macro_is_refused(
    services: Services, api: KeyedClient, account: Account
) -> None:
    refused = await api.post(PATH, accountId=str(account.id), destination_url=OLD)
    assert (refused.status, refused.error[: len(UNKNOWN)]) == (400, UNKNOWN)
    assert await services.stores.mongodb["links"].count_documents({}) == 0


async def test_one_unknown_macro_refuses_all_links_of_a_request_and_names_the_row(
    services: Services, api: KeyedClient, account: Account
) -> None:
    urls = [f"https://shop.example/?c={{{name}}}" for name in ("slug", "sulg")]
    links = [{"destination_url": url} for url in urls]
    refused = await api.post(f"{PATH}/bulk", accountId=str(account.id), links=links)
    assert refused.status == 400
    assert refused.error.startswith(
        "links[1].destination_url: unknown macro {sulg} (did you mean {slug}?); known: "
    )
    assert await services.stores.mongodb["links"].count_documents({}) == 0


async def test_a_link_that_has_an_unknown_macro_already_redirects_as_before(
    services: Services, client: Client, account: Account
) -> None:
    await create_link(services, account.id, "old", OLD)
    location = (await client.get("/c/old")).headers["Location"]
    assert location.startswith("https://shop.example/?c={clickid}&click_id=")


async def test_such_a_link_may_change_in_all_but_a_new_destination_with_one(
    services: Services, api: KeyedClient, account: Account
) -> None:
    path = f"{PATH}/{(await create_link(services, account.id, destination_url=OLD)).id}"
    changed = await api.patch(path, internal_name="Renamed", destination_url=OLD)
    assert (changed.status, changed.json()["internal_name"]) == (200, "Renamed")
    assert (await api.patch(path, active=False)).status == 200
    refused = await api.patch(path, destination_url=f"{OLD}&a=1", internal_name="No")
    assert (refused.status, refused.error[: len(UNKNOWN)]) == (400, UNKNOWN)
    shown = (await api.get(path)).json()
    assert (shown["destination_url"], shown["internal_name"]) == (OLD, "Renamed")
    corrected = await api.patch(path, destination_url="https://shop.example/?c={click_id}")
    assert corrected.status == 200
