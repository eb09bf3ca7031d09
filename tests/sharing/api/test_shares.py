"""Public links to reports: what they show, what they hide, and what nobody can do with them."""

import contextlib
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest

from tests.conversions.scene import applied
from tests.factories import create_link, make_click
from tests.sharing.api.shares import PASSWORD, REPORT, create, opened, share
from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.accounts.sign_in_limit import PER_MINUTE
from tracker.clock import iso, now, now_ms
from tracker.service.services import Services


async def clicks(services: Services, account: Account) -> list[UUID]:
    """Store 3 clicks of one link and 1 of another; return the links' ids."""
    links = [
        await create_link(services, account.id, name, internal_name=f"Secret {name}")
        for name in ("first", "second")
    ]
    of = [links[0]] * 3 + [links[1]]
    await applied(
        services, [make_click(account.id, link_id=one.id.bytes, at=now_ms()) for one in of]
    )
    return [link.id for link in links]


async def test_a_share_shows_its_report_without_the_names_of_links(world: World) -> None:
    links = await clicks(world.services, world.account)
    _, token = await share(world.api, world.account)
    response = await opened(world.client, token)
    assert response.status == 200, response.body
    shown = response.json()
    assert (shown["name"], shown["totals"]["clicks"], shown["expiresAt"]) == ("Spring", 4, None)
    rows = shown["panels"]["link"]["rows"]
    assert [(row["key"], row["name"], row["clicks"]) for row in rows] == [
        ("1", "Link 1", 3),
        ("2", "Link 2", 1),
    ]
    assert b"Secret" not in response.body
    assert not any(str(link).encode() in response.body for link in links)
    assert str(world.account.id).encode() not in response.body
    assert response.headers["Cache-Control"] == "no-store"


async def test_filters_are_told_by_name_and_links_among_them_by_the_number_of_their_row(
    world: World,
) -> None:
    first, second = await clicks(world.services, world.account)
    tag = await world.services.links.tags.create(world.account.id, "Spring sale")
    other = await world.services.accounts.accounts.create("Other")
    of_another = await world.services.links.tags.create(other.id, "Theirs")
    shown = {
        "link": [str(second), str(first)],
        "country": "de",
        "tag": [str(tag.id), str(of_another.id)],
        "bots": "include",
    }
    _, token = await share(world.api, world.account, report=REPORT | {"filters": shown})
    response = await opened(world.client, token)
    assert response.status == 200, response.body
    assert response.json()["bots"] == "include"
    assert response.json()["filters"] == {
        "link": ["Link 1", "Link 2"],
        "country": ["Germany"],
        "tag": ["Spring sale", str(of_another.id)],
    }
    assert not any(str(link).encode() in response.body for link in (first, second))
    _, token = await share(
        world.api, world.account, report=REPORT | {"filters": {"link": shown["link"]}}
    )
    assert (await opened(world.client, token)).json()["filters"] == {"link": ["Link 2", "Link 1"]}


@pytest.mark.parametrize("end", ["revoked", "expired"])
async def test_a_share_that_ended_looks_like_one_that_never_was(world: World, end: str) -> None:
    share_id, token = await share(world.api, world.account)
    if end == "revoked":
        assert (await world.api.delete(f"/api/shares/{share_id}")).status == 200
    else:
        past = {"$set": {"expires_at": now() - timedelta(seconds=1)}}
        await world.services.stores.mongodb["shares"].update_one({"_id": UUID(share_id)}, past)
    ended, unknown = await opened(world.client, token), await opened(world.client, "x" * 43)
    assert (ended.status, ended.body) == (unknown.status, unknown.body)
    assert (unknown.status, unknown.error) == (404, "share: expired, revoked or unknown")


async def test_a_password_is_asked_for_and_guesses_are_limited(world: World) -> None:
    _, token = await share(world.api, world.account, password=PASSWORD)
    for wrong in ({}, {"password": "another one of words"}):
        refused = await opened(world.client, token, **wrong)
        assert refused.status == 401
        assert refused.headers["X-Error-Code"] == "password_required"
    assert (await opened(world.client, token, password=PASSWORD)).status == 200
    guesses = [await opened(world.client, token, password="wrong") for _ in range(PER_MINUTE)]
    assert guesses[-1].status == 429


@each_case(
    "widened",
    [
        {"report": {"lastDays": 700}},
        {"filters": {}},
        {"panels": [{"groupBy": "referrer"}]},
        *({"measure": measure} for measure in ("gain", ["clicks"], "name")),
    ],
)
async def test_whoever_opens_a_share_can_change_nothing_but_the_measure(
    world: World, widened: dict[str, Any]
) -> None:
    _, token = await share(world.api, world.account)
    response = await opened(world.client, token, **widened)
    assert response.status == 400
    assert next(iter(widened)) in response.error


async def test_only_the_digest_of_the_token_is_stored(world: World) -> None:
    _, token = await share(world.api, world.account, password=PASSWORD)
    [stored] = [row async for row in world.services.stores.mongodb["shares"].find()]
    assert token not in repr(stored)
    assert PASSWORD not in repr(stored)
    [listed] = (await world.api.get(f"/api/shares?accountId={world.account.id}")).json()["rows"]
    assert "url" not in listed
    assert (listed["has_password"], listed["report"]["lastDays"]) == (True, 7)


@each_case(
    "fields, error",
    [
        (
            {"report": {}},
            "report.dateRange: needed, or lastDays or period instead; only one of them",
        ),
        (
            {"report": {"period": "week", "untilYesterday": True}},
            "report.untilYesterday: only with lastDays",
        ),
        ({"report": {"lastDays": 60, "interval": "hour"}}, "interval: by hour at most 31 days"),
        # With a leap day in it the year before has one day more.
        (
            {"report": {"lastDays": 31, "interval": "hour", "compare": "previous_year"}},
            "compare: by hour at most 31 days",
        ),
        ({"report": REPORT | {"filters": {"domain": ["a b"]}}}, "filters.domain: must be a host"),
        (
            {
                "report": REPORT
                | {"filters": {"utm_source": [f"{n}{'x' * 200}" for n in range(99)]}}
            },
            "report: at most 16384 bytes of JSON",
        ),
        ({"report": REPORT | {"accountId": "x"}}, "report.accountId"),
        ({"report": {"period": "week", "shown": ["map"]}}, "shown[0]: panels has no country"),
        ({"report": REPORT | {"shown": ["link"] * 2}}, "shown[1]: link is shown already"),
        ({"report": {"period": "year", "interval": "hour"}}, "interval: by hour at most 31 days"),
        ({"name": " "}, "name: "),
        ({"password": "short"}, "password: "),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at: must be in the future"),
    ],
)
async def test_a_broken_rule_is_named_with_its_field(
    world: World, fields: dict[str, Any], error: str
) -> None:
    response = await create(world.api, world.account, **fields)
    assert response.status == 400
    assert error in response.error


@pytest.mark.parametrize(
    ("scopes", "with_names", "lacking"),
    [
        (["shares:write"], False, "report: this API key lacks the scope reports:read"),
        (["shares:*", "links:*"], False, "report: this API key lacks the scope reports:read"),
        (
            ["shares:write", "reports:read"],
            True,
            "show_link_names: this API key lacks the scope links:read",
        ),
        (["shares:write", "reports:read"], False, None),
        (["shares:write", "reports:*", "links:read"], True, None),
    ],
)
async def test_a_share_shows_at_most_what_its_maker_may_read(
    world: World,
    scopes: list[str] | None,
    with_names: bool,
    lacking: str | None,
) -> None:
    api = await world.api_with(scopes)
    response = await create(api, world.account, show_link_names=with_names)
    stored = await world.services.stores.mongodb["shares"].count_documents({})
    if lacking is None:
        assert (response.status, stored) == (200, 1), response.body
        return
    assert (response.status, response.error, stored) == (403, lacking, 0)
    assert response.headers["X-Error-Code"] == "missing_scope"


async def test_a_share_made_with_a_key_that_expires_ends_with_it(world: World) -> None:
    ends = now() + timedelta(days=30)
    _, secret = await world.services.access.api_keys.create(
        world.account.id, "short", expires_at=ends
    )
    api = KeyedClient(world.client, secret)
    await share(api, world.account)
    await share(api, world.account, expires_at=iso(ends - timedelta(days=1)))
    listed = (await api.get(f"/api/shares?accountId={world.account.id}")).json()["rows"]
    assert [row["expires_at"] for row in listed] == [iso(ends - timedelta(days=1)), iso(ends)]
    refused = await create(api, world.account, expires_at="2099-01-01T00:00:00Z")
    message = f"expires_at: at most {iso(ends)}, when this API key ends"
    assert (refused.status, refused.error) == (400, message)


async def test_the_audit_log_says_what_was_shared(world: World) -> None:
    ends = "2099-01-01T00:00:00.000Z"
    fixed = {
        "dateRange": {"from": "2026-01-01", "to": "2026-01-31"},
        "filters": {"country": "de"},
        "compare": "previous_year",
    }
    await share(world.api, world.account)
    await share(
        *(world.api, world.account),
        report=fixed,
        show_link_names=True,
        password=PASSWORD,
        expires_at=ends,
    )
    logged = (await world.api.get(f"/api/audit?accountId={world.account.id}")).json()["rows"]
    second, first = [{k: v["after"] for k, v in row["changes"].items()} for row in logged]
    assert orjson.loads(first.pop("report")) == {"panels": ["link", "country"], "filters": {}}
    shown = {"panels": [], "filters": {"country": ["DE"]}, "compare": "previous_year"}
    assert orjson.loads(second.pop("report")) == shown
    open_to_all = {"show_link_names": False, "has_password": False, "expires_at": None}
    assert first == {"days": "the last 7"} | open_to_all
    assert second == {
        "days": "2026-01-01 to 2026-01-31",
        "show_link_names": True,
        "has_password": True,
        "expires_at": ends,
    }
    assert PASSWORD not in str(logged)


async def test_the_list_says_how_often_a_share_was_opened_and_when(world: World) -> None:
    _, token = await share(world.api, world.account, password=PASSWORD)
    await share(world.api, world.account, name="Never opened")

    async def listed() -> tuple[dict[str, Any], dict[str, Any]]:
        await world.services.sharing.share_opens.store()
        rows = (await world.api.get(f"/api/shares?accountId={world.account.id}")).json()["rows"]
        return rows[1], rows[0]

    before = now()
    for sent in ({}, {"password": "another one of words"}, {"password": PASSWORD}):
        await opened(world.client, token, **sent)
    first, other = await listed()
    assert (other["opens"], other["last_opened_at"]) == (0, None)
    assert first["opens"] == 1
    assert iso(before) <= first["last_opened_at"] <= iso(now())
    assert first["created_by"]["kind"] == "api_key"
    await opened(world.client, token, password=PASSWORD, measure="value")  # is no opening
    same, _ = await listed()
    assert (same["opens"], same["last_opened_at"] > first["last_opened_at"]) == (1, True)
    for _ in range(3):
        await opened(world.client, token, password=PASSWORD)
    assert (await listed())[0]["opens"] == 4


async def test_a_report_that_was_refused_is_not_an_opening(world: World) -> None:
    _, token = await share(world.api, world.account)
    with contextlib.ExitStack() as busy:
        for _ in range(4):
            busy.enter_context(world.services.sharing.shared_limiter.acquire(world.account.id))
        assert (await opened(world.client, token)).status == 429
    await world.services.sharing.share_opens.store()
    assert await world.services.stores.mongodb["shares"].count_documents({"opens": 0}) == 1
