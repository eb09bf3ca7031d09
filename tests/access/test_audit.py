from decimal import Decimal

import msgspec

from tracker.access.audit import (
    MAX_CHANGES_BYTES,
    RETENTION_DAYS,
    AuditObject,
    FieldChange,
    differences,
)
from tracker.access.principal import Actor, ActorKind, Author
from tracker.ids import new_id
from tracker.service.services import Services


class Thing(msgspec.Struct):
    id: str
    name: str
    payout: Decimal
    tags: list[str]
    version: int


async def test_an_entry_keeps_the_beginnings_of_what_is_too_long(services: Services) -> None:
    account_id = new_id()
    author = Author(account_id, Actor(kind=ActorKind.MEMBER, id=new_id(), name="Ada"))
    target = AuditObject(kind="short_link", id=new_id(), name="Spring")
    names = ", ".join(f"{number} {'ß' * 180}" for number in range(100))
    urls = FieldChange(before="https://example.com/" + "a" * 2028, after=None)
    cases: list[tuple[dict[str, FieldChange], int]] = [
        ({"destination_url": urls}, 2048),
        ({"payload_template": FieldChange(before="a" * 3000, after=None)}, 3000),
        ({"tags": FieldChange(before=names, after=names)}, 2048),
        ({f"f{n}": FieldChange(before=[names], after={"a": names}) for n in range(50)}, 16),
    ]
    for changes, length in cases:
        await services.access.audit.record(author, "short_link.changed", target, changes)
        [entry, *_], _ = await services.access.audit.page(account_id, 1, 1)
        stored = await services.stores.mongodb["audit"].find_one({"_id": entry.id}, ["changes"])
        assert stored is not None
        assert stored["changes"] == msgspec.to_builtins(entry.changes)
        assert len(msgspec.json.encode(stored["changes"])) <= MAX_CHANGES_BYTES
        one = next(iter(entry.changes.values()))
        assert len(one.before.partition("…")[0]) == length
    assert one.after.endswith(f"… ({len(names) + 8 - 16:,} more characters)")


async def test_an_entry_that_was_stored_whole_is_shown_cut(services: Services) -> None:
    account_id = new_id()
    author = Author(account_id, Actor(kind=ActorKind.MEMBER, id=new_id(), name="Ada"))
    target = AuditObject(kind="short_link", id=new_id(), name="Spring")
    await services.access.audit.record(
        author, "short_link.changed", target, {"tags": FieldChange(before=None, after="a")}
    )
    old = {"$set": {"changes.tags.after": "a" * 100_000}}
    await services.stores.mongodb["audit"].update_one({"account_id": account_id}, old)
    [entry], _ = await services.access.audit.page(account_id, 1, 1)
    assert entry.changes["tags"].after == "a" * 2048 + "… (97,952 more characters)"


def test_the_differences_of_two_structs_are_values_of_json() -> None:
    before = Thing("1", "a", Decimal("1.50"), [], 1)
    after = Thing("1", "b" * 5000, Decimal(2), ["x"], 2)
    assert differences(before, after, without=["tags"]) == {
        "name": FieldChange(before="a", after="b" * 5000),
        "payout": FieldChange(before="1.50", after="2"),
    }
    assert differences(before, after)["tags"] == FieldChange(before="[]", after='["x"]')


async def test_mongodb_deletes_entries_after_the_days_that_documents_name(
    services: Services,
) -> None:
    indexes = await services.stores.mongodb["audit"].index_information()
    kept = [one["expireAfterSeconds"] for one in indexes.values() if "expireAfterSeconds" in one]
    assert kept == [RETENTION_DAYS * 86_400]
