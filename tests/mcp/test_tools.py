"""The tools over HTTP, by the official client of the protocol."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from mcp.shared.exceptions import MCPError

from tests.conversions.scene import applied
from tests.factories import AT_MS, create_cost, create_link, make_click, make_event_document
from tests.mcp.connecting import connected, refused
from tests.mcp.losing_campaign import ask, losing_campaign
from tests.web.world import World
from tracker.clock import day_of, moment
from tracker.links.link import Link
from tracker.mcp.handler import MAX_ANSWER_BYTES

DAY = day_of(moment(AT_MS))
READING = (
    *("get_account", "report", "list_report_values", "list_links", "get_link"),
    *("list_clicks", "list_conversions", "find", "explain_decision"),
)
WRITING = ("create_link", "change_link")


async def with_a_click(world: World, slug: str, campaign: str) -> tuple[Link, str]:
    """Store a link with a click of a campaign; return the id of the click too."""
    link = await create_link(world.services, world.account.id, slug)
    query: dict[str, Any] = {"query": f"utm_campaign={campaign}"}
    click = make_click(world.account.id, link_id=link.id.bytes, **query)
    await applied(world.services, [click])
    return link, str(UUID(bytes=click.id))


async def in_the_log(world: World, action: str) -> list[str]:
    """Return the names of what keys have done this to, in order."""
    path = f"/api/audit?accountId={world.account.id}&action={action}"
    rows = (await world.api.get(path)).json()["rows"]
    assert {row["actor"]["kind"] for row in rows} == {"api_key"}
    return [row["target"]["name"] for row in reversed(rows)]


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_tools_are_listed_and_called_in_every_way_to_connect(world: World, mode: str) -> None:
    async with connected(world, world.secret, mode) as client:
        listed = (await client.list_tools()).tools
        assert tuple(tool.name for tool in listed) == READING + WRITING
        for tool in listed:
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint == (tool.name in READING)
            assert not {"accountId", "format", "rules"} & tool.input_schema["properties"].keys()
        account = await ask(client, "get_account")
        assert account["id"] == str(world.account.id)
        expected = "2025-11-25" if mode == "legacy" else "2026-07-28"
        assert client.protocol_version == expected


async def test_every_tool_answers_and_each_call_is_in_the_audit_log(world: World) -> None:
    link, click_id = await with_a_click(world, "abc", "spring")
    account_id = world.account.id
    sale: dict[str, Any] = {"transaction_id": "order-1"}
    sale |= {"account_id": account_id, "transaction_scope": account_id}
    event = make_event_document(1, click_id=UUID(click_id), **sale)
    await world.services.stores.mongodb["events"].insert_one(event)
    days = {"from": DAY, "to": DAY}
    calls: list[tuple[str, dict[str, Any], Any]] = [
        ("report", {"dateRange": days, "groupBy": "link"}, ("rows", 0, "clicks", 1)),
        (
            "list_report_values",
            {"dimension": "utm_campaign", **days},
            ("rows", 0, "name", "spring"),
        ),
        ("list_links", {"search": "abc", "pageSize": 5}, ("rows", 0, "id", str(link.id))),
        ("get_link", {"id": str(link.id)}, ("slug", "abc")),
        ("list_clicks", {"link": [str(link.id)]}, ("rows", 0, "id", click_id)),
        ("list_conversions", {"transaction_id": "order-1"}, ("rows", 0, "event_id", 1)),
        ("find", {"q": "order-1"}, ("conversions", 0, "event_id", 1)),
        ("explain_decision", {"id": str(link.id), "country": "DE"}, ("rule_id", None)),
        ("create_link", {"destination_url": "https://example.com/new"}, ("archived", False)),
        ("change_link", {"id": str(link.id), "internal_name": "New"}, ("internal_name", "New")),
    ]
    async with connected(world, world.secret) as client:
        for name, arguments, (*path, expected) in calls:
            found = await ask(client, name, **arguments)
            for step in path:
                found = found[step]
            assert found == expected, name
    assert await in_the_log(world, "mcp.called") == [name for name, _, _ in calls]
    assert await in_the_log(world, "short_link.changed") == ["New"]


async def test_a_key_is_shown_the_tools_of_its_scopes_and_refused_the_others(world: World) -> None:
    key = await world.key(world.account, scopes=["links:read"])
    link = await create_link(world.services, world.account.id, "abc")
    before = await world.stored()
    async with connected(world, key) as client:
        shown = {tool.name for tool in (await client.list_tools()).tools}
        assert shown == {"list_links", "get_link", "explain_decision"}
        fields = {"id": str(link.id), "internal_name": "Mine"}
        assert "lacks the scope links:write" in await refused(client, "change_link", **fields)
    assert await world.stored() == before


async def test_a_tool_tells_the_field_and_the_rule_that_is_broken(world: World) -> None:
    other = await create_link(world.services, world.other_account.id, "theirs")
    async with connected(world, world.secret) as client:
        for name, arguments, message in (
            ("get_link", {}, "id: required"),
            ("get_link", {"id": "x"}, "id: must be a UUID"),
            ("get_link", {"id": str(other.id)}, "short link: belongs to another account"),
            ("get_link", {"id": str(world.account.id)}, "short link: not found"),
            ("list_links", {"pages": 2}, "pages: unknown parameter; did you mean page?"),
            ("list_links", {"format": "csv"}, "format: unknown field"),
            ("list_links", {"search": {"$ne": 1}}, "search: must be text, a number"),
            ("list_links", {"account_id": str(world.other_account.id)}, "has no access"),
            ("create_link", {"destination_url": "ftp://x"}, "destination_url: "),
            ("create_link", {"destination_url": "https://a.example", "rules": []}, "rules: unkn"),
            ("change_link", {"id": str(other.id), "notes": 1}, "notes: must be text"),
        ):
            assert message in await refused(client, name, **arguments), (name, arguments)
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("delete_everything")


async def test_an_answer_that_is_too_long_is_refused_with_what_to_do(world: World) -> None:
    notes = "n" * 1000
    for number in range(MAX_ANSWER_BYTES // len(notes) + 1):
        await create_link(world.services, world.account.id, f"s{number}", notes=notes)
    async with connected(world, world.secret) as client:
        assert "over 65536 bytes" in await refused(client, "list_links", pageSize=100)
        assert len((await ask(client, "list_links", pageSize=5))["rows"]) == 5


async def test_a_program_finds_the_campaign_that_lost_money_last_week(world: World) -> None:
    for slug, campaign, amount in (("a", "spring", 2), ("b", "summer", 12)):
        await with_a_click(world, slug, campaign)
        spent = {"first": DAY, "last": DAY, "value": campaign, "amount": amount * 10**9}
        await create_cost(world.services, world.account.id, **spent)
    named = {"accountId": str(world.account.id), "currency": "EUR"}
    assert (await world.api.patch("/api/account", **named)).status == 200
    at = moment(AT_MS) + timedelta(7)
    async with connected(world, world.secret) as client:
        assert await losing_campaign(client, at) == "summer: -12 EUR"
