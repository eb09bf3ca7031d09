"""The log of conversions: rows and filters, cursors, and one conversion with all about it."""

from typing import Any, get_args
from uuid import UUID

import pytest

from tests.conversions import scene
from tests.factories import (
    AT_MS,
    create_event_config,
    create_link,
    make_click,
    make_conversion,
    make_event_document,
)
from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tests.webhooks.receiver import answer
from tests.webhooks.sending.scene import listening, sending
from tracker.accounts.accounts import Account
from tracker.clock import iso, moment
from tracker.feeds.api.conversion_schema import AttributionName
from tracker.feeds.conversions import SHOWN
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.visitor_dimensions import NAMES

ROW = [
    *("event_id", "at", "received_at", "status", "unknown_word", "attribution", "refused"),
    *("event_config", "click_id", "link", "value", "payout", "refunded_value", "currency"),
    *("transaction_id", "consent", *NAMES, "bot"),
    *("warnings", "repeats", "last_repeat_at", "rule", "variant", "parent_link_id", "parameters"),
]


async def store(services: Services, account: Account, *numbers: int, **fields: Any) -> None:
    await services.stores.mongodb["events"].insert_many(
        [make_event_document(number, account_id=account.id, **fields) for number in numbers]
    )


async def rows(api: KeyedClient, account: Account, query: str = "") -> list[dict[str, Any]]:
    response = await api.get(f"/api/conversions?accountId={account.id}{query}")
    assert response.status == 200, response.body
    found: list[dict[str, Any]] = response.json()["rows"]
    return found


async def ids(api: KeyedClient, account: Account, query: str = "") -> list[int]:
    return [row["event_id"] for row in await rows(api, account, query)]


async def error(api: KeyedClient, account: Account, query: str) -> str:
    response = await api.get(f"/api/conversions?accountId={account.id}{query}")
    assert response.status == 400
    return response.error


async def convert(services: Services, account: Account, number: int, **fields: Any) -> bytes:
    """Drain a click on a link of the account and a conversion of it; return the click's id."""
    link = await create_link(services, account.id, f"s{number}")
    click = make_click(
        account.id, link_id=link.id.bytes, referrer="https://a.example/\xc3\xa4", query="a=%C3%A4"
    )
    config = await create_event_config(services, account.id)
    given = {"account_id": account.id.bytes, "event_config_id": config.id.bytes} | fields
    event = make_conversion(number, click.id, **given)
    await scene.applied(services, [click, event])
    return click.id


async def test_a_conversion_has_the_names_of_its_link_and_event_configuration(world: World) -> None:
    click_id = await convert(
        world.services, world.account, 7, value="12.50", payout="2.50", transaction_id="t-1"
    )
    [row] = await rows(world.api, world.account)
    assert list(row) == [*ROW, "click", "deliveries"]
    assert row["click"]["id"] == row["click_id"]
    assert row["deliveries"] == {"due": 0, "delivered": 0, "failed": 0, "cancelled": 0}
    assert row["event_config"] | {"id": 0} == {"id": 0, "name": "Purchase"}
    assert row["link"] | {"id": 0} == {"id": 0, "internal_name": "A link", "slug": "s7"}
    assert (row["event_id"], row["at"]) == (7, iso(moment(AT_MS + 7)))
    assert (row["attribution"], row["refused"]) == ("attributed", None)
    assert row["click_id"] == str(UUID(bytes=click_id))
    assert (row["value"], row["payout"], row["transaction_id"]) == (12.5, 2.5, "t-1")
    assert (row["device"], row["browser"], row["os"]) == ("desktop", "Chrome", "Windows")


async def test_names_are_those_of_archived_links_and_event_configurations_too(world: World) -> None:
    await convert(world.services, world.account, 1)
    [row] = await rows(world.api, world.account)
    await world.api.delete(f"/api/short-links/{row['link']['id']}")
    await world.api.delete(f"/api/event-configs/{row['event_config']['id']}")
    assert await rows(world.api, world.account) == [row]


@each_case(
    "query, expected",
    [
        (
            "&attribution=claimed",
            "attribution: must be attributed or duplicate or ",
        ),
        ("&to=2026-01-31T00:00:00Z", "to: must be a date such as 2026-01-31"),
        ("&Status=refused", "Status: unknown parameter; did you mean status?"),
        ("&bots=yes", "bots: must be exclude or include or only"),
        ("&click_id=x", "click_id: must be a UUID"),
    ],
)
async def test_a_wrong_filter_is_400_and_names_field_and_rule(
    world: World, query: str, expected: str
) -> None:
    assert (await error(world.api, world.account, query)).startswith(expected)


def test_every_state_of_the_log_can_be_asked_for() -> None:
    assert set(get_args(AttributionName)) == set(SHOWN)


async def test_a_conversion_is_listed_since_a_cursor_when_it_is_stored_and_when_it_is_settled(
    world: World,
) -> None:
    page = f"/api/conversions?accountId={world.account.id}"
    since = (await world.api.get(page)).json()["since_cursor"]
    click = make_click(world.account.id)
    event = make_conversion(1, click.id, account_id=world.account.id.bytes)
    seen = []
    for records in ([event], [click], []):
        await scene.applied(world.services, records)
        found = (await world.api.get(f"{page}&since={since}")).json()
        assert (found["next_cursor"], found["searched_to"]) == (None, None)
        seen.append([(row["event_id"], row["attribution"]) for row in found["rows"]])
        since = found["since_cursor"]
    assert seen == [[(1, "pending")], [(1, "attributed")], []]


async def test_one_conversion_has_its_click_its_metadata_and_its_deliveries(world: World) -> None:
    async with (
        listening(world.services, world.account.id) as (receiver, webhook),
        sending(world.services) as sender,
    ):
        receiver.behaviour = answer(500, b"no")
        click_id = await convert(world.services, world.account, 10**12, metadata='{"a": 1.0}')
        await sender.burst()
    [row] = await rows(world.api, world.account)
    response = await world.api.get(f"/api/conversions/{10**12}")
    assert response.status == 200, response.body
    shown = response.json()
    assert list(shown) == [*ROW, "click", "metadata", "changes", "deliveries"]
    assert shown["metadata"] == '{"a": 1.0}'
    assert shown["click"] | {"at": 0, "link_id": 0} == {
        "id": str(UUID(bytes=click_id)),
        "at": 0,
        "link_id": 0,
        "country": shown["country"],
        "device": "desktop",
        "browser": "Chrome",
        "os": "Windows",
        "bot": None,
        "referrer": "https://a.example/ä",
        "query": "a=%C3%A4",
        "referrer_host": "a.example",
        **dict.fromkeys(("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")),
        "test": False,
    }
    assert row["click"] == shown["click"]
    assert row["deliveries"] == {"due": 1, "delivered": 0, "failed": 0, "cancelled": 0}
    [delivery] = shown["deliveries"]
    assert (delivery["webhook_id"], delivery["webhook_name"]) == (str(webhook.id), "A webhook")
    assert (delivery["kind"], delivery["status"]) == ("conversion", "due")
    [attempt] = delivery["attempts"]
    assert (attempt["code"], attempt["answer"]) == (500, "no")


async def test_a_conversion_without_click_metadata_and_webhooks_shows_none(world: World) -> None:
    await store(world.services, world.account, 1, click_id=new_id(), status="pending")
    shown = (await world.api.get("/api/conversions/1")).json()
    assert (shown["click"], shown["metadata"], shown["deliveries"]) == (None, None, [])
    assert (shown["link"], shown["event_config"], shown["country"]) == (None, None, None)


async def test_the_click_of_another_account_is_not_shown(world: World) -> None:
    click = make_click(world.other_account.id)
    event = make_conversion(1, click.id, account_id=world.account.id.bytes)
    await scene.applied(world.services, [click, event])
    shown = (await world.api.get("/api/conversions/1")).json()
    assert (shown["attribution"], shown["click"]) == ("foreign_click", None)


@pytest.mark.parametrize("scopes", [["conversions:read"], ["conversions:*", "webhooks:write"]])
async def test_a_key_that_may_not_read_webhooks_does_not_see_deliveries(
    world: World, scopes: list[str] | None
) -> None:
    api = await world.api_with(scopes)
    async with listening(world.services, world.account.id):
        await scene.applied(world.services, [make_conversion(1, account_id=world.account.id.bytes)])
    shown = (await api.get("/api/conversions/1")).json()
    assert (shown["event_id"], shown["deliveries"]) == (1, None)
    [row] = await rows(api, world.account)
    assert (row["event_id"], row["deliveries"]) == (1, None)


async def test_deliveries_to_deleted_webhooks_and_messages_are_not_shown(world: World) -> None:
    async with listening(world.services, world.account.id) as (_, webhook):
        await scene.applied(world.services, [make_conversion(1, account_id=world.account.id.bytes)])
    assert len((await world.api.get("/api/conversions/1")).json()["deliveries"]) == 1
    await world.api.delete(f"/api/webhooks/{webhook.id}")
    assert (await world.api.get("/api/conversions/1")).json()["deliveries"] == []


@each_case("text", ["0", "-1", "1.0", "01", "%D9%A1", "9007199254740992", "1" * 30])
async def test_an_event_id_is_a_whole_number_that_json_keeps_exact(world: World, text: str) -> None:
    response = await world.api.get(f"/api/conversions/{text}")
    rule = "event_id: must be a whole number from 1 to 9007199254740991"
    assert (response.status, response.error) == (400, rule)
    assert (await world.api.get("/api/conversions/9007199254740991")).status == 404


async def test_conversions_are_found_by_state_configuration_transaction_and_click(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    click, other = new_id(), new_id()
    scoped = {"event_config_id": config.id, "transaction_scope": config.id}
    await store(world.services, world.account, 1, transaction_id="T-1", click_id=click, **scoped)
    await store(
        world.services, world.account, 2, transaction_id="T-1", transaction_scope=world.account.id
    )
    await store(world.services, world.account, 3, transaction_id="T-2", click_id=click, **scoped)
    await store(
        world.services, world.account, 4, click_id=other, status="refused", refused="max_value"
    )
    assert await ids(world.api, world.account, f"&event={config.id}") == [3, 1]
    [refused] = await rows(world.api, world.account, "&status=refused&attribution=pending")
    assert (refused["event_id"], refused["refused"]) == (4, "max_value")
    foreign = make_event_document(5, account_id=new_id(), click_id=click, transaction_id="T-1")
    await world.services.stores.mongodb["events"].insert_one(foreign)
    assert sorted(await ids(world.api, world.account, "&transaction_id=T-1")) == [1, 2]
    assert await ids(world.api, world.account, f"&click_id={click}") == [3, 1]
    assert await ids(world.api, world.account, f"&click_id={click}&transaction_id=T-2") == [3]
    assert await ids(world.api, world.account, "&transaction_id=T-") == []
