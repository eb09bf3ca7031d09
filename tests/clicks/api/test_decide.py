"""`decide` over HTTP: it answers what the redirect does, and says which condition fails."""

from typing import Any

import orjson

from tests.clicks.redirects.generated import IPHONE
from tests.documents import API, block
from tests.factories import CHROME, LANDING
from tests.links.api.rules import LANDING_A, LANDING_B, rule, split
from tests.links.api.short_links import PATH, create
from tests.web.each import each_case
from tests.web.world import World

UNSAVED = f"{PATH}/decide"


async def decide(world: World, path: str, **sent: Any) -> Any:
    answer = await world.api.post(path, **sent)
    assert answer.status == 200, answer.error
    return answer.json()


async def decide_unsaved(world: World, **sent: Any) -> Any:
    given = {"accountId": str(world.account.id), "destination_url": LANDING}
    return await decide(world, UNSAVED, **(given | sent))


async def test_the_documents_answer_is_that_of_such_a_link(world: World) -> None:
    shown = orjson.loads(block(API, '{\n  "location"'))
    rules = [
        rule("Americans", conditions=[{"country": ["US"]}]),
        rule("Mail", conditions=[{"query": {"key": "src"}}]),
    ]
    rules[1]["destination_url"] = shown["destination_url"]
    answer = await decide_unsaved(world, rules=rules, country="DE", query="src=mail")
    ids = {
        one["id"]: other["id"] for one, other in zip(answer["rules"], shown["rules"], strict=True)
    }
    for one in answer["rules"]:
        one["id"] = ids[one["id"]]
    assert answer | {"rule_id": ids[answer["rule_id"]]} == shown


async def test_each_rule_says_its_first_condition_that_fails(world: World) -> None:
    rules = [
        rule("Phones", conditions=[{"country": ["DE"]}, {"os": ["iOS"]}]),
        rule("Not Germans", conditions=[{"country": ["DE"], "not": True}]),
        rule("Germans", destination_url=LANDING_B),
        rule("Mail", conditions=[{"query": {"key": "src"}}]),
    ]
    link = (await create(world, rules=rules)).json()
    ids = [one["id"] for one in link["rules"]]
    path = f"{PATH}/{link['id']}/decide"
    answer = await decide(world, path, country="de", user_agent=CHROME, query="a=1")
    assert answer == {
        "location": f"{LANDING_B}?a=1",
        "destination_url": LANDING_B,
        "rule_id": ids[2],
        "variant_id": None,
        "rules": [
            {
                "id": ids[0],
                "name": "Phones",
                "holds": False,
                "failed": {"condition": 1, "kind": "os", "why": "operating system is Windows"},
            },
            {
                "id": ids[1],
                "name": "Not Germans",
                "holds": False,
                "failed": {"condition": 0, "kind": "country", "why": "country is DE"},
            },
            {"id": ids[2], "name": "Germans", "holds": True, "failed": None},
            {
                "id": ids[3],
                "name": "Mail",
                "holds": False,
                "failed": {"condition": 0, "kind": "query", "why": "query has no src"},
            },
        ],
    }
    nothing = await decide(world, path)
    assert (nothing["destination_url"], nothing["rule_id"]) == (LANDING, None)
    assert [one["failed"]["why"] for one in nothing["rules"]] == [
        *["country is not known"] * 3,
        "query is not known",
    ]


@each_case(
    "condition, sent, why",
    [
        ({"country": ["US"], "not": True}, {"address": "8.8.8.8"}, "country is US"),
        ({"device": ["tv"]}, {"user_agent": IPHONE}, "device is mobile"),
        ({"browser": ["Edge"]}, {"user_agent": IPHONE}, "browser is Safari"),
        ({"browser": ["Edge"]}, {}, "browser is not known"),
        ({"language": ["de"]}, {"language": "en-GB, fr;q=0.5"}, "language is en, en-gb"),
        ({"language": ["de"]}, {"language": "*"}, "language is not known"),
        ({"referrer": ["a.example"]}, {"referrer": "https://B.example/x"}, "referrer is b.example"),
        ({"referrer": ["a.example"]}, {"referrer": "x"}, "referrer is not known"),
        ({"ip": ["10.0.0.0/8"]}, {"address": "8.8.8.8"}, "address is 8.8.8.8"),
        ({"ip": ["10.0.0.0/8"], "not": True}, {}, "address is not known"),
        ({"query": {"key": "ä", "values": ["x"]}}, {"query": "ä=ü&%C3%A4=%20"}, "ä is  , ü"),
        ({"query": {"key": "a", "values": ["x"]}}, {"query": "a"}, "a is empty"),
        (
            {"time": {"zone": "Europe/Berlin", "weekdays": [2]}},
            {"time": "2026-11-30T22:59:59Z"},
            "time is Monday 2026-11-30 23:59 in Europe/Berlin",
        ),
        ({"time": {"zone": "UTC", "hours": [1], "weekdays": [1]}}, {}, "time is not known"),
    ],
)
async def test_a_failed_condition_says_what_the_visitor_brings(
    world: World, condition: dict[str, Any], sent: dict[str, Any], why: str
) -> None:
    answer = await decide_unsaved(world, rules=[rule(conditions=[condition])], **sent)
    [outcome] = answer["rules"]
    assert outcome["failed"]["why"] == why
    assert answer["rule_id"] is None


@each_case(
    "sent, error",
    [
        ({"country": "Germany"}, "country: must be an ISO 3166-1 alpha-2 code such as DE"),
        ({"address": "localhost"}, "address: must be an IPv4 or IPv6 address"),
        ({"time": "1969-12-31T23:00:00Z"}, "time: must be in the years 1970 to 2999"),
        ({"time": "2026-11-30T10:00:00"}, "time: "),
        ({"rules": [rule(conditions=[])]}, "rules[0].conditions: "),
        ({"split": split(a=1)}, "split.variants: "),
        ({"destination_url": "ftp://x.example"}, "destination_url: "),
        ({"destination_url": "https://x.example/{nothing}"}, "destination_url: "),
        ({"host": "x"}, "host: "),
    ],
)
async def test_what_is_no_visitor_or_no_link_is_refused(
    world: World, sent: dict[str, Any], error: str
) -> None:
    given = {"accountId": str(world.account.id), "destination_url": LANDING}
    answer = await world.api.post(UNSAVED, **(given | sent))
    assert answer.status == 400
    assert answer.error.startswith(error), answer.error


async def test_a_paused_link_is_decided_and_an_edit_of_it_is_tried(world: World) -> None:
    link = (
        await create(world, slug="s", rules=[rule()], split=split(), active=False, pass_query=False)
    ).json()
    path = f"{PATH}/{link['id']}/decide"
    germans: dict[str, Any] = {"country": "DE", "query": "a=1"}
    assert (await decide(world, path, **germans))["location"] == LANDING_A
    changed = f"{LANDING_B}{{slug}}"
    answer = await decide(world, path, **germans, rules=[], split=None, destination_url=changed)
    assert answer["location"] == f"{LANDING_B}s"
    visitors = [{"address": f"8.8.8.{number}", "user_agent": CHROME} for number in range(9)]
    edited = {"variants": [*link["split"]["variants"], *split(c=0)["variants"]]}
    found = [
        [await decide(world, path, rules=[], **one, **more) for one in visitors]
        for more in ({}, {"split": edited})
    ]
    assert found[0] == found[1]
    assert len({one["variant_id"] for one in found[0]}) == 2


async def test_a_variant_is_drawn_for_an_address_and_an_agent_and_the_same_while_one_types(
    world: World,
) -> None:
    whole = {"address": "8.8.8.8", "user_agent": CHROME}
    answers = [await decide_unsaved(world, split=split(), **whole) for _ in range(3)]
    assert answers[0]["variant_id"] is not None
    assert answers[0] == answers[1] == answers[2]
    for name in whole:
        part = {one: value for one, value in whole.items() if one != name}
        answer = await decide_unsaved(world, split=split(), **part)
        assert (answer["variant_id"], answer["location"]) == (None, LANDING)
