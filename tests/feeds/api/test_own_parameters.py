"""The sender's own parameters in both feeds: rows, files and filters."""

import csv
from itertools import product
from typing import Any

from tests.factories import make_click_document, make_event_document
from tests.web.each import each_case
from tests.web.world import World

PATHS = ("/api/clicks", "/api/conversions")
SENT: list[dict[str, str]] = [
    {},
    {"parameter_0": "sub1=a=b", "parameter_2": "place=top"},
    {"parameter_0": "sub1=ü, c"},
    # Of a name that had the position before.
    {"parameter_0": "old=a=b"},
]


async def store(world: World) -> None:
    """Store a click and its conversion for each row of SENT, and name parameters afterwards."""
    mongodb = world.services.stores.mongodb
    accounts = world.services.accounts.accounts
    for names in (["sub1", "gone", "place"], ["sub1", "place"]):
        await accounts.set_parameters(world.account.id, names)
    own = {"account_id": world.account.id}
    clicks = [make_click_document(**own, referrer="", **sent) for sent in SENT]
    await mongodb["clicks"].insert_many(clicks)
    await mongodb["events"].insert_many(
        make_event_document(
            number, **own, status="attributed", link_id=click["link_id"], **SENT[number - 1]
        )
        for number, click in enumerate(clicks, 1)
    )


async def read(world: World, path: str, query: str = "") -> Any:
    response = await world.api.get(f"{path}?accountId={world.account.id}{query}")
    assert response.status == 200, response.body
    return response


async def parameters(world: World, path: str, query: str = "") -> list[dict[str, str]]:
    rows = (await read(world, path, query)).json()["rows"]
    return sorted((row["parameters"] for row in rows), key=str)


NO: dict[str, str] = {}
BOTH, ONE, OLD = {"sub1": "a=b", "place": "top"}, {"sub1": "ü, c"}, {"old": "a=b"}


async def test_a_row_has_all_values_of_its_click_by_name(world: World) -> None:
    await store(world)
    for path in PATHS:
        assert await parameters(world, path) == sorted([NO, BOTH, ONE, OLD], key=str)


async def test_a_csv_file_has_a_column_for_each_name_of_the_account(world: World) -> None:
    await store(world)
    for path in PATHS:
        text = (await read(world, f"{path}/export")).body.decode()
        rows = list(csv.DictReader(text.splitlines()))
        assert list(rows[0])[-2:] == ["parameter:sub1", "parameter:place"], path
        assert "parameters" not in rows[0]
        found = [(row["parameter:sub1"], row["parameter:place"]) for row in rows]
        assert sorted(found) == [("", ""), ("", ""), ("a=b", "top"), ("ü, c", "")], path


FOUND: list[tuple[str, list[dict[str, str]]]] = [
    ("&parameter:sub1=a%3Db", [BOTH]),
    ("&parameter%3Asub1=a%3Db&parameter:sub1=%C3%BC,%20c", [BOTH, ONE]),
    ("&parameter:sub1[]=a%3Db&parameter:place=top", [BOTH]),
    ("&parameter:place=none", [NO, ONE, OLD]),
    ("&parameter:sub1=none&parameter:sub1=a%3Db", [NO, OLD, BOTH]),
    ("&parameter:sub1=none&parameter:place=top", []),
]


async def test_a_filter_finds_values_of_its_name_alone(world: World) -> None:
    await store(world)
    for path, (query, expected) in product(PATHS, FOUND):
        assert await parameters(world, path, query) == sorted(expected, key=str), (path, query)


async def test_a_name_that_was_taken_out_is_no_filter(world: World) -> None:
    await store(world)
    response = await world.api.get(f"/api/clicks?accountId={world.account.id}&parameter:gone=a")
    assert (response.status, response.error) == (
        400,
        "parameter:gone: the account has no parameter gone",
    )


async def test_a_conversion_without_a_click_is_unknown_by_each_parameter(world: World) -> None:
    await store(world)
    alone = make_event_document(9, account_id=world.account.id)
    await world.services.stores.mongodb["events"].insert_one(alone)
    for value, expected in (("unknown", 1), ("none", 2), ("unknown&parameter:sub1=none", 3)):
        found = await parameters(world, "/api/conversions", f"&parameter:sub1={value}")
        assert len(found) == expected, value


@each_case(
    "query, message",
    [
        ("&parameter:Sub1=a", "parameter:Sub1: the account has no parameter Sub1"),
        ("&parameter:a+b=a", "parameter:a b: unknown field"),
        ("&parameter=sub1", "parameter: unknown parameter"),
        ("&parameter:=sub1", "parameter:: unknown field"),
        (f"&parameter:sub1={'x' * 257}", "parameter:sub1: must be text of at most 256 characters"),
        ("&parameter:sub1=a" * 101, "a list of at most 100"),
    ],
)
async def test_a_filter_that_cannot_be_is_named(world: World, query: str, message: str) -> None:
    for path in PATHS:
        response = await world.api.get(f"{path}?accountId={world.account.id}{query}")
        assert (response.status, message in response.error) == (400, True), response.error
