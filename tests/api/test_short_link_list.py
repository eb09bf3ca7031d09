"""Listing short links: pages, order, filters by tags, text and state, and whose links are shown."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import orjson
import pytest

from tests.api.client import Client, Response
from tests.api.test_short_links import PATH, create
from tests.factories import LANDING, create_link
from tracker.access.accounts import Account
from tracker.clock import iso
from tracker.db.documents import document
from tracker.ids import new_id
from tracker.service.services import Services

Query = Mapping[str, Any] | Sequence[tuple[str, Any]] | str


async def listed(client: Client, secret: str, query: Query = "") -> Response:
    return await client.get(f"{PATH}?{encoded(query)}", Authorization=f"Bearer {secret}")


def encoded(query: Query) -> str:
    return query if isinstance(query, str) else urlencode(query)


async def slugs(client: Client, secret: str, account: Account, query: Query = "") -> list[str]:
    """Of the links on the page, in order."""
    response = await listed(client, secret, f"accountId={account.id}&{encoded(query)}")
    assert response.status == 200, response.body
    return [row["slug"] for row in response.json()["rows"]]


async def make_many(services: Services, account: Account, number: int) -> list[str]:
    """The slugs of links that were made one after the other, newest first."""
    first = await create_link(services, account.id, "s0")
    others = [{**document(first), "_id": new_id(), "slug": f"s{one}"} for one in range(1, number)]
    if others:
        await services.database["links"].insert_many(others)
    return [f"s{one}" for one in reversed(range(number))]


async def test_a_row_has_every_field_of_a_short_link_and_its_tags_by_name(
    services: Services, client: Client, account: Account, secret: str
) -> None:
    tags = [await services.tags.create(account.id, name) for name in ("b", "a")]
    link = await create_link(
        services, account.id, "abc", tags=[tag.id for tag in tags], internal_name="Spring offer"
    )
    response = await listed(client, secret, {"accountId": account.id})
    assert response.json() == {
        "rows": [
            {
                "id": str(link.id),
                "internal_name": "Spring offer",
                "slug": "abc",
                "destination_url": LANDING,
                "domain_name": "tracker.test",
                "active": True,
                "tags": [{"id": str(tag.id), "name": tag.name} for tag in tags],
                "created_at": iso(link.created_at),
                "short_url": "http://tracker.test/c/abc",
            }
        ],
        "pagination": {"page": 1, "pageSize": 25, "totalRows": 1, "totalPages": 1},
    }


async def test_a_made_link_is_listed_as_it_was_answered(
    services: Services, client: Client, account: Account, secret: str
) -> None:
    domain = await services.domains.create(account.id, "go.example")
    made = await create(client, secret, accountId=str(account.id), domain_id=str(domain.id))
    rows = (await listed(client, secret, {"accountId": account.id})).json()["rows"]
    assert rows == [made.json()]
    assert rows[0]["domain_name"] == "go.example"


@pytest.mark.parametrize(
    ("number", "query", "rows", "pagination"),
    [
        (0, "", slice(0), (1, 25, 0, 0)),
        (1, "", slice(1), (1, 25, 1, 1)),
        (25, "", slice(25), (1, 25, 25, 1)),
        (26, "", slice(25), (1, 25, 26, 2)),
        (26, "page=2", slice(25, 26), (2, 25, 26, 2)),
        (26, "page=3", slice(0), (3, 25, 26, 2)),
        (26, "page=1000000000&pageSize=100", slice(0), (10**9, 100, 26, 1)),
        (6, "pageSize=1&page=6", slice(5, 6), (6, 1, 6, 6)),
        (6, "pageSize=3&page=2", slice(3, 6), (2, 3, 6, 2)),
        (7, "pageSize=3&page=3", slice(6, 7), (3, 3, 7, 3)),
        (101, "pageSize=100", slice(100), (1, 100, 101, 2)),
    ],
)
async def test_pages_are_cut_newest_first_and_the_totals_tell_of_all(
    services: Services,
    client: Client,
    account: Account,
    other_account: Account,
    secret: str,
    number: int,
    query: str,
    rows: slice,
    pagination: tuple[int, ...],
) -> None:
    await create_link(services, other_account.id, "not-ours")
    expected = await make_many(services, account, number) if number else []
    response = await listed(client, secret, f"accountId={account.id}&{query}")
    assert [row["slug"] for row in response.json()["rows"]] == expected[rows]
    names = ("page", "pageSize", "totalRows", "totalPages")
    assert response.json()["pagination"] == dict(zip(names, pagination, strict=True))


async def test_links_of_one_moment_are_in_the_order_of_their_ids_and_on_one_page_each(
    services: Services, client: Client, account: Account, secret: str
) -> None:
    first = await create_link(services, account.id, "first")
    moment = first.id.int >> 64
    same = [UUID(int=moment << 64 | 0x8000 << 48 | number) for number in range(1, 10)]
    rows = [{**document(first), "_id": one, "slug": str(one)} for one in same]
    await services.database["links"].insert_many(rows)
    seen: list[str] = []
    for page in range(1, 6):
        seen += await slugs(client, secret, account, {"page": page, "pageSize": 2})
    ids = sorted([first.id, *same], reverse=True)
    assert seen == ["first" if one == first.id else str(one) for one in ids]


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("page", "0", "must be a whole number >= 1"),
        ("page", "-1", "must be a whole number >= 1"),
        ("page", "1000000001", "must be a whole number <= 1000000000"),
        ("page", "9" * 19, "must be a whole number <= 1000000000"),
        ("page", "9" * 5000, "must be a whole number, got text"),
        ("page", "abc", "must be a whole number, got text"),
        ("page", "1.0", "must be a whole number, got text"),
        ("page", "1e1", "must be a whole number, got text"),
        ("page", " 1", "must be a whole number, got text"),
        ("page", "+1", "must be a whole number, got text"),
        ("page", "\uff11", "must be a whole number, got text"),
        ("page", "null", "must be a whole number, got text"),
        ("page", "", "must be a whole number, got text"),
        ("pageSize", "0", "must be a whole number >= 1"),
        ("pageSize", "101", "must be a whole number <= 100"),
        ("pageSize", "all", "must be a whole number, got text"),
        ("tagOperator", "XOR", "must be AND or OR"),
        ("tagOperator", "or", "must be AND or OR"),
        ("tagOperator", "str", "must be AND or OR"),
        ("tagOperator", "", "must be AND or OR"),
        ("active", "yes", "must be true or false, got text"),
        ("active", "", "must be true or false, got text"),
        ("selectedTags", "x", "must be a UUID such as 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"),
        ("selectedTags", "[1]", "must be a UUID such as 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"),
        ("selectedTags", "[[]]", "must be a UUID such as 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"),
        ("selectedTags", "[", "must be valid JSON (Expecting value, line 1 column 2)"),
        ("selectedTags", ",".join([str(UUID(int=404))] * 101), "at most 100"),
        ("search", "a" * 2049, "must be text of length <= 2048"),
        ("accountId", "x", "must be a UUID such as 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"),
        ("accountId", "", "must be a UUID such as 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_bad_parameter_is_named_with_its_rule(
    client: Client, account: Account, secret: str, name: str, value: str, rule: str
) -> None:
    response = await listed(client, secret, {"accountId": account.id} | {name: value})
    assert response.status == 400
    assert response.error == f"{name}: {rule}"


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("page=1&page=2", "page: given more than once"),
        ("search=%ff", "parameters: must be UTF-8"),
        ("search=\xff", "parameters: must be UTF-8"),
        ("search=%ed%a0%80", "parameters: must be UTF-8"),
        ("search=a%00b", "parameters: no null characters"),
        ("&".join(f"x{number}=1" for number in range(201)), "parameters: at most 200"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_query_that_cannot_be_read_is_refused(
    client: Client, account: Account, secret: str, query: str, error: str
) -> None:
    response = await listed(client, secret, f"accountId={account.id}&{query}")
    assert (response.status, response.error) == (400, error)


async def test_what_is_not_known_and_what_is_said_twice_the_same_way_does_no_harm(
    services: Services, client: Client, account: Account, secret: str
) -> None:
    await create_link(services, account.id, "abc")
    query = "page=1&page=1&utm_source=x&page[]=7&search=&=&selectedTags=&selectedTags=[]"
    assert await slugs(client, secret, account, query) == ["abc"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("selected_tags", "selectedTags"),
        ("selectedtags", "selectedTags"),
        ("selectedTags[a]", "selectedTags"),
        ("selectedTags[0][id]", "selectedTags"),
        ("selectedTags[-1]", "selectedTags"),
        ("tag_operator", "tagOperator"),
        ("page_size", "pageSize"),
        ("Active", "active"),
    ],
)
async def test_a_name_that_is_nearly_a_known_one_is_refused_not_ignored(
    client: Client, account: Account, secret: str, name: str, meant: str
) -> None:
    response = await listed(client, secret, {"accountId": account.id, name: "x"})
    assert response.status == 400
    assert response.error == f"{name}: unknown parameter; did you mean {meant}?"


SPELLINGS: dict[str, Callable[[list[str]], Query]] = {
    "repeated": lambda ids: [("selectedTags", one) for one in ids],
    "repeated with brackets": lambda ids: [("selectedTags[]", one) for one in ids],
    "with indexes": lambda ids: [(f"selectedTags[{n}]", one) for n, one in enumerate(ids)],
    "comma list": lambda ids: {"selectedTags": ",".join(ids)},
    "comma list with spaces": lambda ids: {"selectedTags": f" {' , '.join(ids)} ,"},
    "JSON array": lambda ids: {"selectedTags": orjson.dumps(ids).decode()},
    "mixed": lambda ids: [("selectedTags", ids[0]), ("selectedTags[]", ",".join(ids[1:]))],
    "upper case": lambda ids: {"selectedTags": ",".join(ids).upper()},
    "said twice": lambda ids: [("selectedTags", one) for one in ids * 2],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("operator", "found"),
    [
        ("", ["both-inactive", "both", "b", "a"]),
        ("&tagOperator=OR", ["both-inactive", "both", "b", "a"]),
        ("&tagOperator=AND", ["both-inactive", "both"]),
        ("&tagOperator=AND&active=true", ["both"]),
        ("&tagOperator=OR&search=B", ["both-inactive", "both", "b"]),
    ],
)
async def test_links_of_any_or_of_all_selected_tags_are_found(
    services: Services,
    client: Client,
    account: Account,
    secret: str,
    spelling: str,
    operator: str,
    found: list[str],
) -> None:
    a, b, c = [await services.tags.create(account.id, name) for name in "abc"]
    await create_link(services, account.id, "a", tags=[a.id])
    await create_link(services, account.id, "b", tags=[b.id, c.id])
    await create_link(services, account.id, "c", tags=[c.id])
    await create_link(services, account.id, "none")
    await create_link(services, account.id, "both", tags=[b.id, a.id])
    await create_link(services, account.id, "both-inactive", tags=[a.id, b.id, c.id], active=False)
    selected = SPELLINGS[spelling]([str(a.id), str(b.id)])
    query = encoded(selected)
    # Links to example.com/landing under the name "A link" have no "b".
    assert await slugs(client, secret, account, query + operator) == found


async def test_a_tag_that_no_link_of_the_account_has_finds_none(
    services: Services, client: Client, account: Account, other_account: Account, secret: str
) -> None:
    foreign = await services.tags.create(other_account.id, "foreign")
    await create_link(services, other_account.id, "not-ours", tags=[foreign.id])
    own = await services.tags.create(account.id, "own")
    await create_link(services, account.id, "ours", tags=[own.id])
    assert await slugs(client, secret, account, {"selectedTags": foreign.id}) == []
    assert await slugs(client, secret, account, {"selectedTags": new_id()}) == []
    both = f"selectedTags={own.id},{foreign.id}"
    assert await slugs(client, secret, account, both) == ["ours"]
    assert await slugs(client, secret, account, f"{both}&tagOperator=AND") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SPRING", ["by-name"]),
        ("spring", ["by-name"]),
        ("by-", ["by-name", "by-URL"]),
        ("url", ["by-URL"]),
        ("shop.example/P?q", ["by-URL"]),
        ("caf\u00c9 \u00dcber", ["by-name"]),
        ("\u00dc", ["by-name"]),
        ("100% off", ["by-name"]),
        ("off*", ["by-name"]),
        (".*", []),
        (".", ["by-name", "by-URL"]),
        ("*", ["by-name"]),
        ("$", ["by-name"]),
        ("$internal_name", []),
        ("{", ["by-URL"]),
        ("{slug}", ["by-URL"]),
        ("[a-z]", []),
        ("(", ["by-name"]),
        ("\\", ["by-name"]),
        ("\\d", []),
        ("\\E", []),
        ("^", []),
        ("a|b", []),
        ("#x", ["by-name"]),
        ("null", []),
        (" ", ["by-name"]),
        ("\n", []),
        ("a" * 2048, []),
        ("\U0001f468" * 2048, []),
        ("(" * 2048, []),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_search_is_for_the_text_as_it_stands_in_any_case(
    services: Services, client: Client, account: Account, secret: str, text: str, found: list[str]
) -> None:
    name = "Spring Caf\u00e9 \u00fcber 100% off* (for $9) #x \\o/"
    await create_link(
        services,
        account.id,
        "by-URL",
        destination_url="https://shop.example/p?q={slug}",
        internal_name="x",
    )
    await create_link(services, account.id, "by-name", internal_name=name)
    assert await slugs(client, secret, account, {"search": text}) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["off", "on"]),
        ("active=true", ["on"]),
        ("active=True", ["on"]),
        ("active=1", ["on"]),
        ("active=false", ["off"]),
        ("active=0", ["off"]),
    ],
)
async def test_links_are_filtered_by_their_state_and_archived_ones_are_not_listed(
    services: Services, client: Client, account: Account, secret: str, query: str, found: list[str]
) -> None:
    for slug in ("on", "off", "gone", "gone-off"):
        link = await create_link(services, account.id, slug, active="off" not in slug)
        if "gone" in slug:
            await services.links.change(link.id, {"archived": True})
    assert await slugs(client, secret, account, query) == found
    totals = (await listed(client, secret, f"accountId={account.id}&{query}")).json()["pagination"]
    assert totals["totalRows"] == len(found)


async def test_the_account_is_required_in_either_spelling(
    client: Client, account: Account, secret: str
) -> None:
    missing = await listed(client, secret, "page=1")
    assert (missing.status, missing.error) == (400, "accountId: required")
    for query in (
        {"accountId": account.id},
        {"account_id": account.id},
        {"account_id": account.id, "accountId": account.id},
        {"account_id": account.id, "accountId": str(account.id).upper()},
    ):
        assert (await listed(client, secret, query)).status == 200
    both = await listed(client, secret, {"account_id": new_id(), "accountId": account.id})
    assert both.status == 400
    assert both.error == "account_id: differs from accountId, which is another name for it"


@pytest.mark.parametrize("spelling", ["accountId", "account_id"])
async def test_another_account_is_forbidden_whether_it_exists_or_not(
    client: Client, other_account: Account, secret: str, spelling: str
) -> None:
    for account_id in (other_account.id, new_id()):
        response = await listed(client, secret, {spelling: account_id})
        assert response.status == 403
        assert response.error == "accountId: this API key has no access to the account"
    refused = await listed(client, secret, {spelling: other_account.id, "page": 0})
    assert refused.status == 400


async def test_a_tag_that_was_deleted_is_not_shown(
    services: Services, client: Client, account: Account, secret: str
) -> None:
    tags = [await services.tags.create(account.id, name) for name in ("kept", "gone")]
    await create_link(services, account.id, "abc", tags=[tag.id for tag in tags])
    await services.database["tags"].delete_one({"_id": tags[1].id})
    [row] = (await listed(client, secret, {"accountId": account.id})).json()["rows"]
    assert row["tags"] == [{"id": str(tags[0].id), "name": "kept"}]
