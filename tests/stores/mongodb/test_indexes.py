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


@pytest.mark.parametrize(
    ("collection", "first", "second"),
    [
        ("api_keys", {"sha256": b"1"}, {"sha256": b"1"}),
        ("sessions", {"sha256": b"1"}, {"sha256": b"1"}),
        ("invitations", {"sha256": b"1"}, {"sha256": b"1"}),
        ("shares", {"sha256": b"1"}, {"sha256": b"1"}),
        ("people", {"email": "ada@example.com"}, {"email": "ada@example.com"}),
        (
            "members",
            {"account_id": ONE, "person_id": OTHER},
            {"account_id": ONE, "person_id": OTHER},
        ),
        ("tags", {"account_id": ONE, "key": "a"}, {"account_id": ONE, "key": "a"}),
        ("links", {"domain_id": None, "slug": "a"}, {"domain_id": None, "slug": "a"}),
        ("links", {"domain_id": ONE, "slug": "a"}, {"domain_id": ONE, "slug": "a"}),
        (
            "domains",
            {"domain_name": "a.example", "account_id": ONE, "quarantined_until": None},
            {"domain_name": "a.example", "account_id": ONE, "quarantined_until": None},
        ),
        (
            "domains",
            {"domain_name": "a.example", "account_id": ONE, "verified": True},
            {"domain_name": "a.example", "account_id": OTHER, "verified": True},
        ),
        ("event_configs", {"pbk": "p"}, {"pbk": "p"}),
        (
            "events",
            {"transaction_scope": ONE, "transaction_id": "t"},
            {"transaction_scope": ONE, "transaction_id": "t"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_duplicates_are_refused(
    services: Services, collection: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    rows = services.stores.mongodb[collection]
    await rows.insert_one({"_id": 1, **first})
    with pytest.raises(DuplicateKeyError):
        await rows.insert_one({"_id": 2, **second})


@pytest.mark.parametrize(
    ("collection", "first", "second"),
    [
        ("links", {"domain_id": None, "slug": "a"}, {"domain_id": None, "slug": "A"}),
        ("links", {"domain_id": None, "slug": "a"}, {"domain_id": ONE, "slug": "a"}),
        ("links", {"domain_id": OTHER, "slug": "a"}, {"domain_id": ONE, "slug": "a"}),
        (
            "domains",
            {"domain_name": "a.example", "account_id": ONE, "verified": False},
            {"domain_name": "a.example", "account_id": OTHER, "verified": True},
        ),
        (
            "events",
            {"transaction_scope": ONE, "transaction_id": "t"},
            {"transaction_scope": OTHER, "transaction_id": "t"},
        ),
        ("events", {"transaction_scope": None}, {"transaction_scope": None}),
        (
            "members",
            {"account_id": ONE, "person_id": OTHER},
            {"account_id": OTHER, "person_id": OTHER},
        ),
        ("tags", {"account_id": ONE, "key": "a"}, {"account_id": OTHER, "key": "a"}),
    ],
    ids=[
        *("case of a slug", "domain", "domain of a name", "account", "scope of a transaction"),
        *("no transaction", "account of a member", "account of a tag"),
    ],
)
async def test_documents_that_differ_are_accepted(
    services: Services, collection: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    await services.stores.mongodb[collection].insert_many(
        [{"_id": 1, **first}, {"_id": 2, **second}]
    )


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
