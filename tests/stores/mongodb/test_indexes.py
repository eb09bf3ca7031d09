"""The unique indexes decide races, and making them can be repeated."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from pymongo.errors import DuplicateKeyError

from tracker.service.services import Services
from tracker.stores.mongodb import drivers, indexes

ONE, OTHER = uuid4(), uuid4()


async def test_every_index_of_the_table_exists_and_making_them_again_changes_nothing(
    services: Services,
) -> None:
    await asyncio.gather(
        indexes.ensure(services.stores.mongodb.database),
        indexes.ensure(services.stores.mongodb.database),
    )
    for collection, models in indexes.INDEXES.items():
        made = await services.stores.mongodb[collection].index_information()
        names = {model.document["name"] for model in models}
        assert set(made) == names | {"_id_"}


async def test_an_index_may_take_longer_to_make_than_other_operations(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = services.stores.mongodb.database.name
    await services.stores.mongodb["tags"].drop_index("by_name")
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 0.2)
    hasty = drivers.mongodb(services.settings.mongodb_uri)
    async with (
        await services.stores.mongodb.client.start_session() as session,
        session.start_transaction(),
    ):
        await services.stores.mongodb["tags"].insert_one({"_id": 1}, session=session)
        making = asyncio.ensure_future(indexes.ensure(hasty[name]))
        _, waiting = await asyncio.wait([making], timeout=1)
        assert waiting
        await session.abort_transaction()
    await making
    hasty.close()
    assert "by_name" in await services.stores.mongodb["tags"].index_information()


UNIQUE = [
    ("api_keys", ["sha256"]),
    ("sessions", ["sha256"]),
    ("invitations", ["sha256"]),
    ("shares", ["sha256"]),
    ("people", ["email"]),
    ("members", ["account_id", "person_id"]),
    ("tags", ["account_id", "key"]),
    ("links", ["domain_id", "slug"]),
    ("domains", ["domain_name", "account_id", "quarantined_until"]),
    ("event_configs", ["pbk"]),
    ("events", ["transaction_scope", "transaction_id"]),
]


async def test_documents_differ_in_one_of_these_fields_or_are_refused(services: Services) -> None:
    for collection, fields in UNIQUE:
        rows = services.stores.mongodb[collection]
        one = dict.fromkeys(fields, "a")
        await rows.insert_one({"_id": 1, **one})
        for number, field in enumerate(fields, 2):
            await rows.insert_one({"_id": number, **one, field: "A"})
        with pytest.raises(DuplicateKeyError):
            await rows.insert_one({"_id": 0, **one})


async def test_links_of_the_default_domain_have_slugs_of_their_own(services: Services) -> None:
    links, one = services.stores.mongodb["links"], {"domain_id": None, "slug": "a"}
    await links.insert_one({"_id": 1, **one})
    with pytest.raises(DuplicateKeyError):
        await links.insert_one({"_id": 2, **one})


async def test_a_hostname_has_one_proven_owner_and_any_claims(services: Services) -> None:
    domains = services.stores.mongodb["domains"]
    claims = [
        {"_id": number, "domain_name": "a.example", "account_id": number, "verified": number == 3}
        for number in range(4)
    ]
    await domains.insert_many(claims)
    with pytest.raises(DuplicateKeyError):
        await domains.insert_one({**claims[3], "_id": 4, "account_id": 4})


async def test_events_without_a_transaction_id_do_not_differ(services: Services) -> None:
    without = [{"_id": number, "transaction_scope": None} for number in range(2)]
    await services.stores.mongodb["events"].insert_many(without)


@pytest.mark.parametrize(
    ("collection", "query", "index"),
    [
        ("links", {"domain_id": None, "slug": "a"}, "by_domain_and_slug"),
        ("domains", {"domain_name": {"$in": ["a.example"]}}, "by_claim"),
        ("domains", {"domain_name": "a.example", "verified": True}, "by_proven_name"),
        ("links", {"account_id": ONE}, "by_account"),
        ("events", {"click_id": {"$in": [ONE]}, "status": "pending"}, "pending_of_click"),
        (
            "events",
            {"transaction_scope": {"$in": [ONE, OTHER]}, "transaction_id": "t"},
            "by_transaction",
        ),
    ],
)
async def test_hot_queries_use_their_index(
    services: Services, collection: str, query: dict[str, Any], index: str
) -> None:
    plan = await services.stores.mongodb[collection].find(query).explain()
    assert f"'indexName': '{index}'" in str(plan["queryPlanner"]["winningPlan"])
