"""Every list: its pages, and whose objects are in it."""

from itertools import product
from typing import Any

import orjson
import pytest

from tests.factories import create_person, insert_links
from tests.web.client import Response
from tests.web.each import each_case
from tests.web.lists import LISTS
from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import World
from tracker.ids import new_id

UNIQUE = {"slug", "key", "domain_name", "pbk", "sha256"}


async def listed(world: World, name: str, key: str, **fields: Any) -> Response:
    method, path, _ = LISTS[name]
    sent: dict[str, str | bytes] = {"Authorization": f"Bearer {key}"}
    fields = {"accountId": str(world.account.id), **fields}
    if method == "POST":
        return await world.client.request(method, path, sent, orjson.dumps(fields))
    query = "&".join(f"{field}={value}" for field, value in fields.items())
    return await world.client.request(method, f"{path}?{query}", sent)


async def many(world: World, name: str) -> list[str]:
    """Create 60 objects, half of them the other account's. Return the own ids, newest first."""
    _, path, collection = LISTS[name]
    rows = world.services.stores.mongodb[collection]
    create = next(one for one in KEYED_ENDPOINTS if one.path == f"{path}/{{id}}")
    await world.request(create, world.account)
    first = await rows.find_one({})
    assert first is not None
    copies = []
    for number in range(60):
        owner = (world.account, world.other_account)[number % 2]
        unique: dict[str, Any] = dict.fromkeys(UNIQUE & set(first), f"{number}")
        if "person_id" in first:
            unique["person_id"] = (await create_person(world.services)).id
        copies.append({**first, "_id": new_id(), "account_id": owner.id, **unique})
    if collection == "links":
        await insert_links(world.services, copies)
    else:
        await rows.insert_many(copies)
    own = rows.find({"account_id": world.account.id}).sort("_id", -1)
    return [str(row["_id"]) async for row in own]


@pytest.mark.parametrize("name", LISTS)
async def test_lists_have_pages_of_25_newest_first_and_a_page_past_the_end_is_empty(
    world: World, name: str
) -> None:
    key = await world.key(world.account)
    ids = await many(world, name)
    total = len(ids)
    for fields, shown, page, size in (
        ({}, ids[:25], 1, 25),
        ({"page": 1}, ids[:25], 1, 25),
        ({"page": 2}, ids[25:50], 2, 25),
        ({"page": 3}, [], 3, 25),
        ({"page": 10**9}, [], 10**9, 25),
        ({"page": 7, "pageSize": 3}, ids[18:21], 7, 3),
        ({"pageSize": 100}, ids, 1, 100),
        ({"pageSize": 1}, ids[:1], 1, 1),
    ):
        answer = (await listed(world, name, key, **fields)).json()
        assert list(answer)[:2] == ["rows", "pagination"]
        assert [row["id"] for row in answer["rows"]] == shown
        assert answer["pagination"] == {
            "page": page,
            "pageSize": size,
            "totalRows": total,
            "totalPages": -(-total // size),
        }


@each_case("name, field", product(LISTS, ("page", "pageSize")))
async def test_an_invalid_page_is_400(world: World, name: str, field: str) -> None:
    for value in (0, -1, 10**10, 2**63, 1.5, "x"):
        response = await listed(world, name, world.secret, **{field: value})
        assert response.status == 400
        assert response.error.startswith(f"{field}: must be a whole number")


def test_every_list_is_in_the_table() -> None:
    lists = {(method, path) for method, path, _ in LISTS.values()}
    paged = {
        (one.method, one.path)
        for one in KEYED_ENDPOINTS
        if any("page" in kind.__struct_fields__ for kind in (one.query, one.body))
    }
    # The pages of a report have sums: `test_reports` and `test_link_figures` show them.
    # Deliveries are a webhook's, not an account's: `test_deliveries` shows theirs. So are a
    # domain's unknown paths, an import's rows, and a link's earlier rules.
    # So are the entries of an audit log, which every change adds to: `test_audit` shows them.
    # No endpoint creates refused postbacks: `test_refused_postbacks` shows theirs.
    # Files have no pages, though they take the first: `test_exports` shows them.
    others = {
        ("POST", "/api/reports"),
        ("GET", "/api/short-links/figures"),
        ("GET", "/api/webhooks/{id}/deliveries"),
        ("GET", "/api/domains/{id}/unknown-paths"),
        ("GET", "/api/conversions/uploads/{id}/rejected"),
        ("GET", "/api/conversions/uploads/{id}/rejected/export"),
        ("GET", "/api/imports/{id}/rows"),
        ("GET", "/api/imports/{id}/rows/export"),
        ("GET", "/api/audit"),
        ("GET", "/api/audit/export"),
        ("GET", "/api/refused-postbacks"),
        ("GET", "/api/short-links/{id}/history"),
        ("GET", "/api/short-links/{id}/rules/history"),
        ("GET", "/api/short-links/export"),
        ("POST", "/api/reports/export"),
    }
    assert paged - lists == others, "add these to LISTS"
