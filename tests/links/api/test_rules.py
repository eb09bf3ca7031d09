"""Rules and splits over HTTP: what is kept, their ids, and the secrets of draws."""

import json
from typing import Any
from uuid import UUID

import orjson

from tests.documents import API, block
from tests.factories import LANDING
from tests.links.api.rules import LANDING_A, LANDING_B, rule, split, without_ids
from tests.links.api.short_links import BULK, PATH, audited, create, send, stored
from tests.web.each import each_case
from tests.web.world import World
from tracker.ids import new_id
from tracker.links.api.rules.checks import MAX_BYTES
from tracker.links.destination import OWN_REDIRECT

EVERY_KIND: list[dict[str, Any]] = [
    {"country": ["DE", "AT"], "not": True},
    {"language": ["es", "en-GB"]},
    {"device": ["mobile"]},
    {"os": ["iOS", "Other"]},
    {"browser": ["Safari"]},
    {"referrer": ["example.com"]},
    {"ip": ["192.0.2.0/24", "2001:db8::/32"]},
    {"query": {"key": "src", "values": ["mail", ""]}},
    {"query": {"key": "src"}},
    {
        "time": {
            "zone": "Europe/Berlin",
            "weekdays": [1, 2],
            "hours": [9],
            "from": "22:00",
            "to": "06:00",
        }
    },
]


async def changed(world: World, link: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = await send(world, "PATCH", link["id"], fields)
    assert answer.status == 200, answer.error
    found: dict[str, Any] = answer.json()
    return found


async def test_rules_and_splits_are_kept_as_they_were_sent(world: World) -> None:
    sent = {
        "rules": [rule("All", conditions=EVERY_KIND), rule("Two", split=split(a=700, b=300))],
        "split": split(c=0, d=2),
    }
    link = (await create(world, **sent)).json()
    assert {name: without_ids(link[name]) for name in sent} == sent
    assert "warnings" not in link
    shown = await send(world, "GET", link["id"])
    assert {name: shown.json()[name] for name in sent} == {name: link[name] for name in sent}
    listed = await world.api.get(f"{PATH}?accountId={world.account.id}")
    assert listed.json()["rows"][0]["rules"] == link["rules"]


async def test_the_rules_and_splits_of_the_document_are_accepted(world: World) -> None:
    for sent in (json.loads(block(API, '{"rules"')), json.loads(block(API, '{"split"'))):
        answer = await create(world, **sent)
        assert (answer.status, "warnings" in answer.json()) == (200, False), answer.error


@each_case(
    "sent, kept",
    [
        ({"country": [" de ", "DE"]}, {"country": ["DE"]}),
        ({"os": ["ios"]}, {"os": ["iOS"]}),
        ({"browser": ["chrome"]}, {"browser": ["Chrome"]}),
        ({"device": ["MOBILE"]}, {"device": ["mobile"]}),
        ({"referrer": ["WWW.Caf\u00e9.example."]}, {"referrer": ["www.xn--caf-dma.example"]}),
        ({"ip": ["10.1.2.3/8", "10.0.0.1"]}, {"ip": ["10.0.0.0/8", "10.0.0.1/32"]}),
        ({"ip": ["::ffff:192.0.2.1"]}, {"ip": ["192.0.2.1/32"]}),
        ({"country": ["DE"], "not": False}, {"country": ["DE"]}),
        (
            {"time": {"zone": "UTC", "from": "2026-12-24T18:00"}},
            {"time": {"zone": "UTC", "from": "2026-12-24T18:00"}},
        ),
    ],
)
async def test_values_have_the_form_in_which_visitors_have_them(
    world: World, sent: dict[str, Any], kept: dict[str, Any]
) -> None:
    link = (await create(world, rules=[rule(conditions=[sent])])).json()
    assert link["rules"][0]["conditions"] == [kept]


def conditions(*given: Any) -> dict[str, Any]:
    return {"rules": [rule(conditions=[*given])]}


def time(**fields: Any) -> dict[str, Any]:
    return conditions({"time": {"zone": "UTC", **fields}})


AT = "rules[0].conditions[0]"
BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"rules": [rule()] * 21}, "rules: must be a list of at most 20"),
    (conditions(), "rules[0].conditions: must be a list of at least 1"),
    (conditions(*EVERY_KIND, {"os": ["iOS"]}), "rules[0].conditions: must be a list of at most"),
    (conditions({}), f"{AT}: needs exactly one of country, language, device"),
    (conditions({"not": True}), f"{AT}: needs exactly one of country"),
    (conditions({"os": ["iOS"], "country": ["DE"]}), f"{AT}: needs exactly one of country"),
    (conditions({"city": ["Berlin"]}), f"{AT}.city: unknown field"),
    (conditions({"country": []}), f"{AT}.country: must be a list of at least 1"),
    (conditions({"country": ["DE"] * 51}), f"{AT}.country: must be a list of at most 50"),
    (conditions({"country": ["DE", "UK"]}), f"{AT}.country[1]: must be an ISO 3166-1"),
    (conditions({"country": ["EU"]}), f"{AT}.country[0]: must be an ISO 3166-1"),
    (conditions({"country": ["DE", 1]}), f"{AT}.country[1]: must be text"),
    (conditions({"language": ["*"]}), f"{AT}.language[0]: must be a language such as"),
    (conditions({"device": ["unknown"]}), f"{AT}.device[0]: must be one of bot, desktop"),
    (conditions({"os": ["BeOS"]}), f"{AT}.os[0]: must be one of Android"),
    (conditions({"browser": ["a" * 101]}), f"{AT}.browser[0]: must be text of at most 100"),
    (conditions({"referrer": ["https://a.example"]}), f"{AT}.referrer[0]: must be a host"),
    (conditions({"ip": ["10.0.0.0/33"]}), f"{AT}.ip[0]: must be an address or a network"),
    (conditions({"ip": ["fe80::1%eth0"]}), f"{AT}.ip[0]: must be an address or a network"),
    (conditions({"query": {"key": ""}}), f"{AT}.query.key: must be text of at least 1"),
    (conditions({"query": {"key": "a" * 65}}), f"{AT}.query.key: must be text of at most 64"),
    (conditions({"query": {"key": "a", "values": []}}), f"{AT}.query.values: must be a list of"),
    (time(), f"{AT}.time: needs weekdays, hours, from or to"),
    (time(zone="Mars", hours=[1]), f"{AT}.time.zone: must be a time zone"),
    (time(hours=[24]), f"{AT}.time.hours[0]: must be a whole number <= 23"),
    (time(weekdays=[0]), f"{AT}.time.weekdays[0]: must be a whole number >= 1"),
    (time(**{"from": "9:00"}), f"{AT}.time.from: must be a time such as 09:00"),
    (time(to="2026-02-30T10:00"), f"{AT}.time.to: must be a time such as 09:00"),
    (time(**{"from": "09:00", "to": "2026-12-24T18:00"}), f"{AT}.time.to: must have the form"),
    (time(**{"from": "09:00", "to": "09:00"}), f"{AT}.time.to: must be after from"),
    (
        time(**{"from": "2026-12-24T18:00", "to": "2026-12-24T17:00"}),
        f"{AT}.time.to: must be after from",
    ),
    ({"rules": [rule(), rule(name=" ")]}, "rules[1].name: 1 to 100 characters"),
    ({"rules": [rule(name="a" * 101)]}, "rules[0].name: 1 to 100 characters"),
    ({"rules": [rule(destination_url="ftp://a.example")]}, "rules[0].destination_url: must be an"),
    ({"rules": [rule(destination_url="javascript:x")]}, "rules[0].destination_url: must be an"),
    ({"rules": [rule(destination_url="https://a.b/{x}")]}, "rules[0].destination_url: unknown"),
    (
        {"rules": [rule(destination_url="http://tracker.test/c/abc")]},
        f"rules[0].destination_url: {OWN_REDIRECT}",
    ),
    (
        {"rules": [rule(split=split(), destination_url=LANDING_A)]},
        "rules[0]: needs exactly one of destination_url, split",
    ),
    ({"rules": [{"name": "a", "conditions": [{"os": ["iOS"]}]}]}, "rules[0]: needs exactly one"),
    ({"rules": [rule(split=split(a=1))]}, "rules[0].split.variants: must be a list of at least 2"),
    ({"split": split(**{f"v{one}": 1 for one in range(11)})}, "split.variants: must be a list of"),
    ({"split": split(a=1, b=-1)}, "split.variants[1].weight: must be a whole number >= 0"),
    ({"split": split(a=1, b=10**7)}, "split.variants[1].weight: must be a whole number <="),
    (
        {"split": {"variants": [*split()["variants"], {"name": "c", "weight": 1}]}},
        "split.variants[2].destination_url: required",
    ),
    (
        {"rules": [rule(split={"variants": [*split()["variants"], rule() | {"weight": 1}]})]},
        "rules[0].split.variants[2].conditions: unknown field",
    ),
    ({"rules": [rule(id=str(new_id()))]}, "rules[0].id: no rule of this link has or had it"),
    ({"rules": [rule()], "redirect_status": 301}, "redirect_status: 301 is permanent, so not with"),
    ({"split": split(), "redirect_status": 301}, "redirect_status: 301 is permanent, so not with"),
    (
        {"rules": [rule(destination_url=LANDING_A + "a" * 2_000)] * 17},
        "rules: with split at most 32,768 bytes of JSON",
    ),
]


@each_case("fields, error", BROKEN)
async def test_a_broken_rule_is_named_with_its_path(
    world: World, fields: dict[str, Any], error: str
) -> None:
    answer = await create(world, **fields)
    assert (answer.status, answer.error[: len(error)]) == (400, error)
    many = await world.api.post(
        BULK,
        accountId=str(world.account.id),
        links=[{"destination_url": LANDING}, {"destination_url": LANDING, **fields}],
    )
    assert many.error.startswith(f"links[1].{error}")


async def test_rules_and_split_are_measured_together_whichever_is_sent(world: World) -> None:
    long = LANDING_A + "a" * 2_000
    link = (await create(world, rules=[rule(destination_url=long)] * 14)).json()
    wide = {"variants": [{"name": n, "destination_url": long, "weight": 1} for n in "ab"]}
    answer = await send(world, "PATCH", link["id"], {"split": wide})
    assert answer.error == "rules: with split at most 32,768 bytes of JSON"
    assert (await changed(world, link, split=wide, rules=[]))["split"] is not None


async def test_rules_that_fit_without_ids_fit_with_those_that_they_get(world: World) -> None:
    rules = [rule(f"{number}", destination_url=LANDING_A) for number in range(20)]
    free = MAX_BYTES - len(json.dumps([rules, None], separators=(",", ":")))
    for one in rules:
        one["destination_url"] += "a" * (free // len(rules))
    link = (await create(world, rules=rules)).json()
    answer = await send(world, "PATCH", link["id"], {"rules": link["rules"]})
    assert (answer.status, answer.json()["rules"]) == (200, link["rules"]), answer.error


async def test_links_that_are_created_together_may_have_rules(world: World) -> None:
    links = [{"destination_url": LANDING, "rules": [rule()], "split": split(a=0, b=0)}] * 2
    answer = await world.api.post(BULK, accountId=str(world.account.id), links=links)
    rows = answer.json()["rows"]
    assert [one["path"] for row in rows for one in row["warnings"]] == ["split"] * 2
    assert len({row["rules"][0]["id"] for row in rows}) == 2


async def test_many_links_cannot_be_given_the_same_rules(world: World) -> None:
    link = (await create(world)).json()
    for name, value in (("rules", [rule()]), ("split", split())):
        body = {"accountId": str(world.account.id), "ids": [link["id"]], name: value}
        answer = await send(world, "PATCH", "bulk", body)
        assert answer.error == f"{name}: belong to one link; change it alone"


async def test_a_part_keeps_its_id_where_it_is_sent_or_has_the_same_name(world: World) -> None:
    link = (await create(world, rules=[rule("A", split=split(a=1, b=1)), rule("B")])).json()
    first, second = link["rules"]
    again = await changed(world, link, rules=[rule("B"), rule("A", split=split(b=1, a=1))])
    assert [one["id"] for one in again["rules"]] == [second["id"], first["id"]]
    ids = {one["name"]: one["id"] for one in first["split"]["variants"]}
    assert {one["name"]: one["id"] for one in again["rules"][1]["split"]["variants"]} == ids
    renamed = await changed(world, link, rules=[rule("C", id=second["id"]), rule("B")])
    assert renamed["rules"][0]["id"] == second["id"]
    assert renamed["rules"][1]["id"] not in (first["id"], second["id"])
    back = await changed(world, link, rules=[{**first, "name": "D"}])
    assert back["rules"][0]["id"] == first["id"]
    assert {one["name"]: one["id"] for one in back["rules"][0]["split"]["variants"]} == ids


async def test_an_id_is_refused_that_never_was_the_links_or_is_repeated(world: World) -> None:
    link = (await create(world, rules=[rule("A", split=split())], split=split())).json()
    other = (await create(world, rules=[rule("A")], split=split())).json()
    [own], variant = link["rules"], link["split"]["variants"][0]
    for fields, error in (
        ({"rules": other["rules"]}, "rules[0].id: no rule of this link has or had it"),
        ({"split": other["split"]}, "split.variants[0].id: no variant of this link has or had it"),
        ({"rules": [rule(id=variant["id"])]}, "rules[0].id: no rule of this link has or had it"),
        ({"rules": [own, own]}, "rules[1].id: repeated"),
        ({"rules": [rule(split=link["split"])]}, "rules[0].split.variants[0].id: repeated"),
    ):
        answer = await send(world, "PATCH", link["id"], fields)
        assert (answer.status, answer.error) == (400, error)
    # Moved from the link to a rule, in one change.
    moved = await changed(world, link, rules=[rule(split=link["split"])], split=None)
    assert moved["rules"][0]["split"] == link["split"]


async def secrets(world: World, link: dict[str, Any]) -> list[str]:
    row = await stored(world.services, UUID(link["id"]))
    splits = [one.get("split") for one in row.get("rules", [])] + [row.get("split")]
    return [one["secret"] for one in splits if one]


async def test_a_split_keeps_its_secret_while_it_keeps_a_variant_even_later(world: World) -> None:
    link = (await create(world, split=split(a=1, b=1))).json()
    [secret] = await secrets(world, link)
    assert len(bytes.fromhex(secret)) == 16
    await changed(world, link, split=split(a=9, new=1))
    assert await secrets(world, link) == [secret]
    await changed(world, link, split=None)
    await changed(world, link, split=split(x=1, y=1))
    assert await secrets(world, link) != [secret]
    await changed(world, link, split=link["split"])
    assert await secrets(world, link) == [secret]


async def test_no_answer_and_no_entry_of_the_audit_log_has_a_secret(world: World) -> None:
    link = (await create(world, rules=[rule(split=split())], split=split())).json()
    found = await secrets(world, link)
    await changed(world, link, split=split(a=2, b=1))
    answers = [
        await send(world, "GET", link["id"]),
        await send(world, "GET", f"{link['id']}/history"),
        await send(world, "GET", f"{link['id']}/rules/history"),
        await world.api.get(f"{PATH}/export?accountId={world.account.id}"),
        await send(world, "DELETE", link["id"]),
    ]
    assert [answer.status for answer in answers] == [200] * len(answers)
    entries = orjson.dumps([repr(one) for one in await audited(world.services, world.account)])
    shown = b"".join([*(answer.body for answer in answers), entries])
    assert [one for one in found if one.encode() in shown] == []


async def test_a_put_of_the_same_rules_changes_nothing(world: World) -> None:
    body = {
        "accountId": str(world.account.id),
        "destination_url": LANDING,
        "rules": [rule(split=split())],
        "split": split(),
    }

    async def put() -> dict[str, Any]:
        found: dict[str, Any] = (await send(world, "PUT", "external/x", body)).json()
        return found

    first = await put()
    before = await stored(world.services, UUID(first["id"]))
    assert await put() == first
    assert await stored(world.services, UUID(first["id"])) == before
    assert [one.action for one in await audited(world.services, world.account)] == [
        "short_link.created"
    ]


async def test_rules_and_splits_are_removed_by_nothing_and_null(world: World) -> None:
    link = (await create(world, rules=[rule()], split=split())).json()
    kept = await changed(world, link, internal_name="Other")
    assert (kept["rules"], kept["split"]) == (link["rules"], link["split"])
    bare = await changed(world, link, rules=[], split=None)
    assert (bare["rules"], bare["split"]) == ([], None)
    assert {"rules", "split"}.isdisjoint(await stored(world.services, UUID(link["id"])))
    assert (await send(world, "PATCH", link["id"], {"rules": None})).status == 400


async def test_the_audit_log_says_names(world: World) -> None:
    link = (await create(world)).json()
    await changed(world, link, rules=[rule("A"), rule("B", split=split(x=7, y=3))], split=split())
    paused = {**split()["variants"][1], "active": False}
    await changed(world, link, split={"variants": [split()["variants"][0], paused]})
    await changed(world, link, rules=[rule("A", destination_url=LANDING_B)])
    await changed(world, link, rules=[rule("A", destination_url=LANDING_A)])
    entries = [one.changes for one in await audited(world.services, world.account)]
    changes = [
        {name: (one.before, one.after) for name, one in each.items()} for each in entries[:-1]
    ]
    assert changes[::-1] == [
        {"rules": (None, "A, B"), "split": (None, "a, b")},
        {"split": ("a, b", "a, b (changed)")},
        {"rules": ("A, B", "A")},
        {"rules": ("A", "A (changed)")},
    ]


async def test_an_account_decides_from_its_first_rule_or_split_on(world: World) -> None:
    accounts = world.services.stores.mongodb["accounts"]
    wanted = {"_id": world.account.id, "decides": True}
    link = (await create(world, rules=[])).json()
    assert await accounts.count_documents(wanted) == 0
    await changed(world, link, split=split())
    await changed(world, link, split=None)
    assert await accounts.count_documents(wanted) == 1


async def test_a_visitor_follows_the_rules_that_were_stored_last(world: World) -> None:
    async def location(language: str) -> str:
        answer = await world.client.get(f"/c/{link['slug']}", **{"Accept-Language": language})
        assert answer.headers["Cache-Control"] == "no-store"
        return answer.headers["Location"].partition("?")[0]

    link = (await create(world)).json()
    assert await location("es") == LANDING
    spanish = rule(conditions=[{"language": ["es"]}], destination_url=LANDING_A)
    await changed(world, link, rules=[spanish])
    assert [await location("es-AR"), await location("fr")] == [LANDING_A, LANDING]
    await changed(world, link, rules=[{**spanish, "destination_url": LANDING_B}])
    assert [await location("es-AR"), await location("fr")] == [LANDING_B, LANDING]


async def test_each_rule_and_variant_keeps_its_name_after_it_is_gone(world: World) -> None:
    link = (await create(world, rules=[rule("A"), rule("B")], split=split(a=1, b=1))).json()
    await changed(world, link, rules=[rule("C", id=link["rules"][0]["id"])], split=None)
    rows = world.services.stores.mongodb["choices"].find({"link_id": UUID(link["id"])})
    found = {(row["kind"], row["name"]) async for row in rows}
    assert found == {("rule", "B"), ("rule", "C"), ("variant", "a"), ("variant", "b")}
