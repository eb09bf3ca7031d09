"""The audit log over HTTP, and the history of a link."""

import json
from datetime import datetime

from tests.factories import create_link
from tests.web.world import World
from tracker.access.audit import AuditObject, FieldChange
from tracker.access.principal import Actor, ActorKind, Author
from tracker.ids import new_id


async def test_the_log_is_filtered_by_action_target_and_actor(world: World) -> None:
    tag = AuditObject(kind="tag", id=new_id(), name="Spring")
    for action in ("tag.created", "tag.renamed", "tag.deleted"):
        await world.services.access.audit.record(Author.operator(world.account.id), action, tag)
    await world.services.access.audit.record(
        Author.operator(world.other_account.id), "tag.created", tag
    )
    member = Actor(kind=ActorKind.MEMBER, id=new_id(), name="Ada")
    await world.services.access.audit.record(Author(world.account.id, member), "tag.created", tag)

    async def actions(query: str) -> list[str]:
        answer = await world.api.get(f"/api/audit?accountId={world.account.id}{query}")
        assert answer.status == 200, answer.body
        return [one["action"] for one in answer.json()["rows"]]

    assert await actions("") == ["tag.created", "tag.deleted", "tag.renamed", "tag.created"]
    assert await actions("&action=tag.renamed") == ["tag.renamed"]
    assert await actions(f"&target={tag.id}&pageSize=1&page=2") == ["tag.deleted"]
    assert await actions(f"&target={new_id()}") == []
    assert await actions(f"&actor={member.id}") == ["tag.created"]
    assert await actions(f"&actor={new_id()}") == []


async def test_the_history_of_a_link_has_no_addresses(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    target = AuditObject(kind="short_link", id=link.id, name="A link")
    changes = {"active": FieldChange(before=True, after=False)}
    author = Author.operator(world.account.id)._replace(address="8.8.8.0/24")
    await world.services.access.audit.record(author, "short_link.changed", target, changes)
    answer = await world.api.get(f"/api/short-links/{link.id}/history")
    [row] = answer.json()["rows"]
    assert "address" not in row
    assert row["changes"] == {"active": {"before": True, "after": False}}
    assert row["target"]["id"] == str(link.id)


async def test_the_history_of_a_link_names_its_tags_and_what_was_changed(world: World) -> None:
    tag = await world.services.links.tags.create(world.account.id, "Spring")
    body = {"destination_url": "https://example.com/offer"}
    made = (
        await world.api.post("/api/short-links", accountId=str(world.account.id), **body)
    ).json()
    path = f"/api/short-links/{made['id']}"
    for change in ({"tags": [str(tag.id)], "active": False}, {"active": False}, {}):
        assert (await world.api.patch(path, **change)).status == 200
    await world.api.delete(path)
    history = (await world.api.get(f"{path}/history")).json()["rows"]
    assert [one["action"] for one in history] == [
        "short_link.archived",
        "short_link.changed",
        "short_link.created",
    ]
    assert history[1]["changes"] == {
        "tags": {"before": None, "after": "Spring"},
        "active": {"before": True, "after": False},
    }


async def test_links_created_together_have_an_entry_each_or_none(world: World) -> None:
    async def create(*slugs: str) -> int:
        links = [{"destination_url": "https://example.com/", "slug": slug} for slug in slugs]
        answer = await world.api.post(
            "/api/short-links/bulk", accountId=str(world.account.id), links=links
        )
        return answer.status

    assert await create("a", "b") == 200
    assert await create("c", "a") == 400
    logged = await world.services.stores.mongodb["audit"].count_documents(
        {"action": "short_link.created"}
    )
    assert logged == 2


async def test_the_log_is_searched_by_names_and_days_and_is_a_file_of_exactly_that(
    world: World,
) -> None:
    """Names are compared without case, and text is no pattern. Days are the account's."""
    audit, account_id = world.services.access.audit, world.account.id
    ada = Author(account_id, Actor(kind=ActorKind.MEMBER, id=new_id(), name="Ada"))
    days = {"29": ("Spring (old)", ada), "30": ("Autumn", Author.operator(account_id))}
    for day, (name, author) in days.items():
        tag = AuditObject(kind="tag", id=new_id(), name=name)
        await audit.record(author, "tag.created", tag)
        at = datetime.fromisoformat(f"2026-01-{day}T23:30:00+00:00")
        entries = world.services.stores.mongodb["audit"]
        await entries.update_one({"target.id": tag.id}, {"$set": {"at": at}})

    async def names(query: str) -> list[str]:
        listed = await world.api.get(f"/api/audit?accountId={account_id}{query}")
        assert listed.status == 200, listed.body
        filed = await world.api.get(
            f"/api/audit/export?accountId={account_id}{query}&format=ndjson"
        )
        rows = [json.loads(line) for line in filed.body.splitlines()]
        assert rows == listed.json()["rows"]
        return [one["target"]["name"] for one in rows]

    assert await names("") == ["Autumn", "Spring (old)"]
    assert await names("&search=spring+(OLD)") == ["Spring (old)"]
    assert await names("&search=ada") == ["Spring (old)"]
    assert await names("&search=.*") == []
    assert await names("&from=2026-01-30") == ["Autumn"]
    assert await names("&from=2026-01-29&to=2026-01-29") == ["Spring (old)"]
    refused = await world.api.get(
        f"/api/audit?accountId={account_id}&from=2026-01-30&to=2026-01-29"
    )
    assert (refused.status, refused.json()["error"]) == (400, "from: must not be after to")
