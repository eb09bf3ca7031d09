"""The options of links over HTTP: what may be set, what is shown, and what is stored."""

from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tests.factories import LANDING, create_link
from tests.links.api.short_links import BULK, audited, create, send, stored
from tests.web.each import each_case
from tests.web.world import World
from tracker.links.options import NAMES, LinkOptions, RedirectOptions

DEFAULTS: dict[str, Any] = {
    "starts_at": None,
    "expires_at": None,
    "expired_url": None,
    "redirect_status": 302,
    "pass_query": True,
    "click_parameter": "click_id",
    "no_referrer": False,
    "notes": None,
    "external_id": None,
    "max_clicks": None,
    "cost_per_click": None,
}
SET: dict[str, Any] = {
    "starts_at": "2026-01-31T09:30:00.125Z",
    "expires_at": "2099-01-31T09:30:00.000Z",
    "expired_url": "https://example.com/ended",
    "redirect_status": 307,
    "pass_query": False,
    "click_parameter": "sub.id",
    "no_referrer": True,
    "notes": "For the spring leaflet.\nPrinted 2,000 times.",
    "external_id": "Spring/ä 1",
    "max_clicks": 2000,
    "cost_per_click": 0.0525,
}


def options_of(shown: dict[str, Any]) -> dict[str, Any]:
    """Return the options but `paths`, which need a custom domain (`test_paths`)."""
    return {name: shown[name] for name in DEFAULTS if name != "paths"}


async def test_options_are_stored_only_while_a_link_uses_them(world: World) -> None:
    plain = (await create(world)).json()
    assert options_of(plain) == DEFAULTS
    link = (await create(world, **SET)).json()
    assert options_of(link) == SET
    found = await world.api.get(f"/api/short-links/{link['id']}")
    assert found.json() == link
    changed = await send(world, "PATCH", link["id"], DEFAULTS)
    assert (changed.status, options_of(changed.json())) == (200, DEFAULTS)
    for one in (plain, link):
        assert not set(NAMES) & set(await stored(world.services, UUID(one["id"])))


async def test_each_option_is_changed_by_itself_and_kept_in_the_history(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    expected = dict(DEFAULTS)
    for name, value in SET.items():
        changed = await send(world, "PATCH", link.id, {name: value})
        expected[name] = value
        assert (changed.status, options_of(changed.json())) == (200, expected), changed.error
        [entry, *_] = await audited(world.services, world.account)
        shown = str(value) if name == "cost_per_click" else value
        assert (list(entry.changes), entry.changes[name].after) == ([name], shown)


async def test_clicks_before_an_import_are_shown_and_nobody_can_set_them(world: World) -> None:
    link = await create_link(world.services, world.account.id, opening_clicks=12)
    found = await world.api.get(f"/api/short-links/{link.id}")
    assert found.json()["opening_clicks"] == 12
    for response in (
        await create(world, opening_clicks=1),
        await send(world, "PATCH", link.id, {"opening_clicks": 1}),
    ):
        assert (response.status, "opening_clicks" in response.error) == (400, True)


async def test_links_that_are_created_together_have_options_of_their_own(world: World) -> None:
    links = [{"destination_url": LANDING, **SET}, {"destination_url": LANDING}]
    answer = await world.api.post(BULK, accountId=str(world.account.id), links=links)
    assert [options_of(one) for one in answer.json()["rows"]] == [SET, DEFAULTS]
    broken = {**SET, "redirect_status": 301}
    links[1] |= broken
    links[0].pop("external_id")
    refused = await world.api.post(BULK, accountId=str(world.account.id), links=links)
    assert (refused.status, "links[1]" in refused.error) == (400, True)


@each_case(
    "field, value, rule",
    [
        ("starts_at", "2026-01-31", "starts_at"),
        ("starts_at", "2026-01-31T09:30:00", "starts_at"),
        ("expires_at", "0001-01-01T00:00:00+10:00", "expires_at: must be in the years 1 to 9999"),
        ("expired_url", "ftp://example.com/", "expired_url: must be an absolute http"),
        ("expired_url", "http://tracker.test/c/abc", "expired_url: must not be a redirect"),
        ("expired_url", "https://ex\u200bample.com/", "expired_url: has an invisible character"),
        ("redirect_status", 308, "redirect_status"),
        ("redirect_status", None, "redirect_status"),
        ("pass_query", "yes", "pass_query"),
        ("click_parameter", "", "click_parameter: 1 to 64"),
        ("click_parameter", "a&b", "click_parameter: 1 to 64"),
        ("click_parameter", "s", "click_parameter: 1 to 64"),
        ("click_parameter", "a" * 65, "click_parameter: 1 to 64"),
        ("max_clicks", 0, "max_clicks: must be a whole number"),
        ("max_clicks", 1_000_000_001, "max_clicks: must be a whole number"),
        ("max_clicks", 1.5, "max_clicks: must be a whole number"),
        ("max_clicks", "1,000", "max_clicks: must be a whole number"),
        ("cost_per_click", "0.05", "cost_per_click: must be a number or null"),
        ("cost_per_click", -0.01, "cost_per_click: must be from 0 to 1000000"),
        ("cost_per_click", 1_000_001, "cost_per_click: must be from 0 to 1000000"),
        ("cost_per_click", 0.0000001, "cost_per_click: at most 6 decimals"),
        ("notes", "n" * 2001, "notes: at most 2000 characters"),
        ("external_id", "", "external_id: 1 to 255 characters"),
        ("external_id", "\u200b ", "external_id: 1 to 255 characters"),
        ("external_id", "e" * 256, "external_id: 1 to 255 characters"),
        ("external_id", "a\nb", "external_id: 1 to 255 characters, no control"),
        ("external_id", 7, "external_id: must be text"),
        ("password", "", "password"),
        ("password", "x" * 129, "password"),
        ("password", 12345678, "password"),
        ("password_hash", "$2b$10$", "password_hash"),
        ("has_password", True, "has_password"),
    ],
)
async def test_an_option_that_breaks_its_rule_is_refused_by_name(
    world: World, field: str, value: Any, rule: str
) -> None:
    link = await create_link(world.services, world.account.id, None)
    for response in (
        await create(world, **{field: value}),
        await send(world, "PATCH", link.id, {field: value}),
    ):
        assert response.status == 400
        assert rule in response.error
    assert not set(NAMES) & set(await stored(world.services, link.id))


@each_case(
    "stored_options, sent, rule",
    [
        ({}, {"starts_at": SET["expires_at"], "expires_at": SET["starts_at"]}, "after starts_at"),
        ({"expires_at": SET["starts_at"]}, {"starts_at": SET["expires_at"]}, "after starts_at"),
        ({"expires_at": SET["expires_at"]}, {"redirect_status": 301}, "so not with expires_at"),
        ({"redirect_status": 301}, {"starts_at": SET["starts_at"]}, "so not with starts_at"),
        ({"max_clicks": 5}, {"redirect_status": 301}, "301 is permanent, so not with max_clicks"),
        ({"redirect_status": 301}, {"password": "x"}, "redirect_status: 301 is permanent, so not"),
        ({"password": "x"}, {"redirect_status": 301}, "so not with password"),
    ],
)
async def test_options_that_exclude_each_other_are_refused_also_across_requests(
    world: World, stored_options: dict[str, Any], sent: dict[str, Any], rule: str
) -> None:
    link = (await create(world, **stored_options)).json()
    for response in (
        await send(world, "PATCH", link["id"], sent),
        await create(world, **stored_options, **sent),
    ):
        assert response.status == 400
        assert rule in response.error
    assert (await world.api.get(f"/api/short-links/{link['id']}")).json() == link


@given(
    st.builds(
        LinkOptions,
        starts_at=st.none() | st.datetimes(),
        expired_url=st.none() | st.just("https://example.com/"),
        redirect_status=st.sampled_from([301, 302, 307]),
        pass_query=st.booleans(),
        click_parameter=st.sampled_from(["click_id", "subid"]),
        no_referrer=st.booleans(),
        notes=st.none() | st.text(),
        max_clicks=st.none() | st.just(5),
    )
)
def test_only_options_of_the_redirect_are_cached(options: LinkOptions) -> None:
    has_some = any(
        getattr(options, name) != default for name, default in DEFAULTS.items() if name != "notes"
    )
    assert (RedirectOptions.of(options) is not None) == has_some
