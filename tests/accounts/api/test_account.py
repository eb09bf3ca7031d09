"""The account of a key over HTTP, and its rules against forged conversions."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.web.each import each_case
from tests.web.world import World
from tracker.clock import iso

PATH = "/api/account"
OFF = {"require_pbk": False, "no_negative_values": False, "max_value": None, "max_per_click": None}


async def test_an_account_is_shown_with_every_rule_off(world: World) -> None:
    shown = await world.api.get(f"{PATH}?accountId={world.account.id}")
    assert shown.status == 200
    assert shown.json() == {
        "id": str(world.account.id),
        "name": "Acme",
        "created_at": iso(world.account.created_at),
        "time_zone": "UTC",
        "time_zone_change": None,
        "currency": None,
        "conversion_rules": OFF,
        "cost_parameter": "cost",
        "parameters": [],
        "origins": [],
    }


async def test_each_rule_is_switched_on_and_off_separately(world: World) -> None:
    expected: dict[str, Any] = dict(OFF)
    for change in (
        {"require_pbk": True},
        {"max_value": 99.5, "max_per_click": 2},
        {},
        {"no_negative_values": True, "max_value": 0},
        {"require_pbk": False, "max_value": None},
        {"max_per_click": None},
    ):
        answer = await world.api.patch(
            PATH, account_id=str(world.account.id), conversion_rules=change
        )
        expected |= change
        assert (answer.status, answer.json()["conversion_rules"]) == (200, expected)
        shown = await world.api.get(f"{PATH}?accountId={world.account.id}")
        assert shown.json() == answer.json()
    assert (await world.api.patch(PATH, accountId=str(world.account.id))).json() == shown.json()


async def test_an_account_chooses_the_parameter_with_the_cost_of_its_clicks(world: World) -> None:
    for name in ("bid", None, "cost", "cost"):
        answer = await world.api.patch(PATH, accountId=str(world.account.id), cost_parameter=name)
        assert (answer.status, answer.json()["cost_parameter"]) == (200, name)
    for wrong in ("", "a b", "s", "x" * 65, 7):
        answer = await world.api.patch(PATH, accountId=str(world.account.id), cost_parameter=wrong)
        assert (answer.status, "cost_parameter" in answer.error) == (400, True), wrong
    entries, _ = await world.services.access.audit.page(world.account.id, 1, 10)
    changes = [one.changes["cost_parameter"].after for one in entries]
    assert changes == ["cost", None, "bid"]


async def test_an_account_names_the_senders_own_parameters(world: World) -> None:
    account_id = str(world.account.id)
    for sent, shown in (
        (["sub1", "placement"], ["sub1", "placement"]),
        (["placement", "sub1"], ["sub1", "placement"]),
        (["Sub1", "placement"], ["placement", "Sub1"]),
        (["sub1"], ["sub1"]),
        ([], []),
    ):
        answer = await world.api.patch(PATH, accountId=account_id, parameters=sent)
        assert (answer.status, answer.json()["parameters"]) == (200, shown)
        assert (await world.api.get(f"{PATH}?accountId={account_id}")).json() == answer.json()
    entries, _ = await world.services.access.audit.page(world.account.id, 1, 10)
    changes = [one.changes["parameters"].after for one in entries]
    assert changes == ["[]", '["sub1"]', '["placement","Sub1"]', '["sub1","placement"]']


@each_case(
    "change, message",
    [
        ({"parameters": "sub1"}, "parameters: must be a list"),
        ({"parameters": ["a b"]}, "parameters[0]: 1 to 64 of A-Z a-z 0-9 _ . ~ -, and neither s"),
        ({"parameters": ["sub1", "d"]}, "parameters[1]: 1 to 64 of A-Z a-z 0-9 _ . ~ -"),
        ({"parameters": ["x" * 65]}, "parameters[0]: 1 to 64"),
        ({"parameters": ["a", "b", "a"]}, "parameters[2]: a is named already"),
        ({"parameters": list("abcefghijkl")}, "parameters: must be a list of at most 10"),
        *(
            ({"parameters": [name]}, f"parameters[0]: {name} has a meaning of its own")
            for name in ("click_id", "gclid", "utm_source", "utm_id")
        ),
        ({"parameters": ["cost"]}, "parameters: cost is the cost_parameter"),
        ({"parameters": ["bid"], "cost_parameter": "bid"}, "parameters: bid is the cost_parameter"),
    ],
)
async def test_a_parameter_that_cannot_be_the_senders_own_is_named(
    world: World, change: Any, message: str
) -> None:
    answer = await world.api.patch(PATH, accountId=str(world.account.id), **change)
    assert (answer.status, message in answer.error) == (400, True), answer.error
    assert (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()["parameters"] == []


async def test_an_account_lists_the_origins_of_its_pages(world: World) -> None:
    account_id = str(world.account.id)
    for sent, shown in (
        (
            ["https://Shop.example:443/", "shop.example", "https://shop.example"],
            ["https://shop.example", "shop.example"],
        ),
        (["*.B\u00fccher.example"], ["*.xn--bcher-kva.example"]),
        ([f"h{number}.example" for number in range(100)], None),
        ([], []),
    ):
        answer = await world.api.patch(PATH, accountId=account_id, origins=sent)
        assert (answer.status, answer.json()["origins"]) == (200, sent if shown is None else shown)
    for wrong in (
        *("*", "*.com", "ftp://shop.example", "https://shop.example/x", "https://*.shop.example"),
        *("shop.example:443", "https://shop.example?a", "", "a b"),
    ):
        answer = await world.api.patch(PATH, accountId=account_id, origins=["a.example", wrong])
        assert (answer.status, answer.error.startswith("origins[1]: ")) == (400, True), wrong
    many = [f"h{number}.example" for number in range(101)]
    answer = await world.api.patch(PATH, accountId=account_id, origins=many)
    assert (answer.status, answer.error) == (400, "origins: must be a list of at most 100")
    entries, _ = await world.services.access.audit.page(world.account.id, 1, 10)
    assert entries[0].changes["origins"].after == "[]"


@each_case(
    "rules, message",
    [
        ({"max_value": -1}, "max_value: must be from 0 to 1000000000000000"),
        ({"max_value": 1e16}, "max_value: must be from 0 to 1000000000000000"),
        ({"max_value": "5"}, "max_value: must be a number or null"),
        ({"max_value": 0.1234567}, "max_value: at most 6 decimals"),
        *(
            ({"max_per_click": number}, "max_per_click: must be a whole number from 1 to 1000")
            for number in (0, 1001, 1.5, "1", True)
        ),
        ({"require_pbk": 1}, "conversion_rules.require_pbk: must be true or false"),
        ({"requirePbk": True}, "conversion_rules.requirePbk: unknown field"),
        (None, "conversion_rules"),
    ],
)
async def test_an_invalid_rule_is_named_and_changes_nothing(
    world: World, rules: Any, message: str
) -> None:
    refused = await world.api.patch(PATH, accountId=str(world.account.id), conversion_rules=rules)
    assert refused.status == 400
    assert refused.error.startswith(message)
    shown = await world.api.get(f"{PATH}?accountId={world.account.id}")
    assert shown.json()["conversion_rules"] == OFF


async def test_an_account_is_renamed_and_what_changed_is_audited(world: World) -> None:
    for body in ({"name": " Acme Media "}, {"conversion_rules": {"max_value": 5}}, {}):
        answer = await world.api.patch(PATH, accountId=str(world.account.id), **body)
    assert answer.json()["name"] == "Acme Media"
    assert answer.json()["conversion_rules"]["max_value"] == 5
    again = {"name": "Acme Media", "conversion_rules": {"max_value": 5}}
    assert (await world.api.patch(PATH, accountId=str(world.account.id), **again)).status == 200
    logged = (await world.api.get(f"/api/audit?accountId={world.account.id}")).json()["rows"]
    assert [one["changes"] for one in logged] == [
        {"max_value": {"before": None, "after": "5"}},
        {"name": {"before": "Acme", "after": "Acme Media"}},
    ]


@each_case("name", ["", " ", "x" * 256, "a\nb", None])
async def test_a_wrong_name_of_an_account_is_refused(world: World, name: object) -> None:
    answer = await world.api.patch(PATH, accountId=str(world.account.id), name=name)
    assert (answer.status, answer.error.startswith("name: ")) == (400, True)


async def test_a_change_of_the_time_zone_is_audited_and_says_with_which_day_it_begins(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2026, 1, 10, 12, tzinfo=UTC)
    for module in ("accounts.time_zones", "accounts.api.account"):
        monkeypatch.setattr(f"tracker.{module}.now", lambda: at)
    change = {"time_zone": "Europe/Berlin", "first_day": "2026-01-11", "hours": 23}
    for _ in range(2):
        asked = await change_zone(world, "Europe/Berlin")
        assert (asked["time_zone"], asked["time_zone_change"]) == ("UTC", change)
    assert (await change_zone(world, "UTC"))["time_zone_change"] is None
    await change_zone(world, "Europe/Berlin")
    at = datetime(2026, 1, 11, tzinfo=UTC)
    shown = (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()
    assert (shown["time_zone"], shown["time_zone_change"]) == ("Europe/Berlin", None)
    rows = (await world.api.get(f"/api/audit?accountId={world.account.id}")).json()["rows"]
    assert [one["changes"]["time_zone"]["after"] for one in rows] == [
        *("Europe/Berlin", "UTC", "Europe/Berlin")
    ]


async def change_zone(world: World, zone: str) -> dict[str, Any]:
    answer = await world.api.patch(PATH, accountId=str(world.account.id), time_zone=zone)
    assert answer.status == 200
    found: dict[str, Any] = answer.json()
    return found


@each_case(
    "zone",
    ["", "Factory", "localtime", "Mars/Olympus", "europe/berlin", "+01:00", "../etc", 1, None],
)
async def test_an_unknown_time_zone_is_refused_by_name(world: World, zone: object) -> None:
    refused = await world.api.patch(
        PATH, accountId=str(world.account.id), name="New", time_zone=zone
    )
    assert (refused.status, refused.error.startswith("time_zone: must be ")) == (400, True)
    shown = (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()
    assert (shown["name"], shown["time_zone_change"]) == ("Acme", None)
