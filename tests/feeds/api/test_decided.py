"""The rule and variant that decided a click: in both feeds, in files and as filters."""

import csv
from typing import Any

from tests.factories import make_click_document, make_event_document
from tests.web.each import each_case
from tests.web.world import World
from tracker.ids import new_id

PATHS = ("/api/clicks", "/api/conversions")
RULE, VARIANT, FORGOTTEN = new_id(), new_id(), new_id()
BOTH = {"rule_id": RULE, "variant_id": VARIANT}
DECIDED: list[dict[str, Any]] = [{}, {"rule_id": RULE}, BOTH, {"variant_id": FORGOTTEN}]


async def store(world: World) -> None:
    """Store a click and its conversion for each row of DECIDED, and a conversion without click."""
    mongodb, own = world.services.stores.mongodb, {"account_id": world.account.id}
    names = ((RULE, "iPhones"), (VARIANT, "Red"))
    await mongodb["choices"].insert_many({"_id": one, **own, "name": name} for one, name in names)
    clicks = [make_click_document(**own, referrer="", **one) for one in DECIDED]
    await mongodb["clicks"].insert_many(clicks)
    events = [
        make_event_document(number, **own, status="attributed", link_id=click["link_id"], **one)
        for number, (click, one) in enumerate(zip(clicks, DECIDED, strict=True))
    ]
    await mongodb["events"].insert_many([*events, make_event_document(9, **own)])


async def rows(world: World, path: str, query: str = "") -> list[dict[str, Any]]:
    response = await world.api.get(f"{path}?accountId={world.account.id}{query}")
    assert response.status == 200, response.body
    return list(response.json()["rows"])


def names(row: dict[str, Any]) -> tuple[str | None, ...]:
    return tuple(row[one] and row[one]["name"] for one in ("rule", "variant"))


async def test_a_row_names_what_decided_it_by_its_id_if_the_name_is_gone(world: World) -> None:
    await store(world)
    expected = {(None, None), ("iPhones", None), ("iPhones", "Red"), (None, str(FORGOTTEN))}
    for path in PATHS:
        found = await rows(world, path)
        assert {names(row) for row in found} == expected, path
        ids = {row["rule"]["id"] for row in found if row["rule"]}
        assert ids == {str(RULE)}, path
    detail = await world.api.get("/api/conversions/2")
    assert names(detail.json()) == ("iPhones", "Red")


async def test_files_have_a_column_for_the_ids_and_the_names(world: World) -> None:
    await store(world)
    for path in PATHS:
        text = (await world.api.get(f"{path}/export?accountId={world.account.id}")).body.decode()
        found = [(row["rule.name"], row["variant.id"]) for row in csv.DictReader(text.split("\n"))]
        assert ("iPhones", str(VARIANT)) in found, path
        assert ("", str(FORGOTTEN)) in found, path


async def test_filters_take_ids_none_and_unknown(world: World) -> None:
    await store(world)
    for query, clicks, conversions in (
        (f"&rule={RULE}", 2, 2),
        (f"&rule={str(RULE).upper()}&variant=none", 1, 1),
        ("&rule=none", 2, 2),
        (f"&variant={VARIANT}&variant={FORGOTTEN}", 2, 2),
        ("&variant=unknown", 0, 1),
        ("&variant=unknown&variant=none", 2, 3),
    ):
        found = [len(await rows(world, path, query)) for path in PATHS]
        assert found == [clicks, conversions], query


@each_case(
    "query, message",
    [
        ("&rule=iPhones", "rule: must be a UUID such as"),
        ("&variant=None", "or none or unknown"),
    ],
)
async def test_a_filter_that_is_no_id_is_refused(world: World, query: str, message: str) -> None:
    for path in PATHS:
        response = await world.api.get(f"{path}?accountId={world.account.id}{query}")
        assert (response.status, message in response.error) == (400, True), response.error
