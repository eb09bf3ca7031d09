"""Keys that keys made: what they may be given, and how they end with the key that made them."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.stores.mongodb.profiler import profiled
from tests.web.client import Client
from tests.web.keyed_client import KeyedClient
from tracker.access.roles import SCOPES_OF, Role
from tracker.accounts.accounts import Account
from tracker.clock import iso, now
from tracker.ids import new_id
from tracker.service.services import Services

PATH = "/api/keys"
ENDS = now() + timedelta(days=30)


class Family:
    """An account's keys by name, and clients that use them."""

    def __init__(self, services: Services, client: Client, account: Account) -> None:
        self._services, self._client, self._account = services, client, account
        self.ids: dict[str, str] = {}
        self.apis: dict[str, KeyedClient] = {}

    async def found(self, name: str, *scopes: str, **fields: Any) -> KeyedClient:
        """Make a key that no key made, and return its client."""
        given = list(scopes) or None
        key, secret = await self._services.access.api_keys.create(
            self._account.id, name, given, **fields
        )
        return self._add(name, str(key.id), secret)

    async def make(self, maker: str, name: str, *scopes: str, **fields: Any) -> KeyedClient:
        """Make a key with another, and return its client."""
        body = {"name": name, "scopes": list(scopes) or ["keys:write"], **fields}
        made = await self.apis[maker].post(PATH, accountId=str(self._account.id), **body)
        assert made.status == 200, made.body
        return self._add(name, made.json()["id"], made.json()["key"])

    async def rows(self) -> dict[str, dict[str, Any]]:
        """Return the rows of the account's list, by name."""
        listed = await self.apis["owner"].get(f"{PATH}?accountId={self._account.id}")
        return {row["name"]: row for row in listed.json()["rows"]}

    async def valid(self) -> set[str]:
        """Return the names of the keys that are accepted."""
        return {name for name, row in (await self.rows()).items() if row["revoked_at"] is None}

    def _add(self, name: str, key_id: str, secret: str) -> KeyedClient:
        self.ids[name] = key_id
        self.apis[name] = KeyedClient(self._client, secret)
        return self.apis[name]


@pytest.fixture
def family(services: Services, client: Client, account: Account) -> Family:
    return Family(services, client, account)


async def three_generations(family: Family) -> KeyedClient:
    """Make a parent, two children, and a grandchild; return the client of another key."""
    owner = await family.found("owner")
    await family.found("parent", "keys:write")
    await family.make("parent", "child")
    await family.make("parent", "other child")
    await family.make("child", "grandchild")
    return owner


async def test_a_key_made_by_a_key_ends_with_it_or_earlier_and_no_later(
    family: Family, account: Account
) -> None:
    await family.found("owner")
    parent = await family.found("parent", "keys:write", expires_at=ENDS)
    earlier = iso(ENDS - timedelta(days=1))
    for name, sent, end in (
        ("none", {}, iso(ENDS)),
        ("never", {"expires_at": None}, iso(ENDS)),
        ("the same", {"expires_at": iso(ENDS)}, iso(ENDS)),
        ("earlier", {"expires_at": earlier}, earlier),
    ):
        await family.make("parent", name, **sent)
        assert (await family.rows())[name]["expires_at"] == end
    later = {"name": "later", "scopes": ["keys:write"], "expires_at": "2099-01-01T00:00:00Z"}
    refused = await parent.post(PATH, accountId=str(account.id), **later)
    assert refused.status == 400
    assert refused.error == f"expires_at: at most {iso(ENDS)}, when this API key ends"
    assert "later" not in await family.rows()


async def test_the_list_names_the_parent_and_the_descendants_of_a_key(family: Family) -> None:
    await three_generations(family)
    ids, rows = family.ids, await family.rows()
    parent = {"id": ids["parent"], "name": "parent", "revoked_at": None}
    assert (rows["parent"]["parent"], rows["child"]["parent"]) == (None, parent)
    younger = [ids["child"], ids["other child"], ids["grandchild"]]
    assert rows["parent"]["descendants"] == younger
    assert rows["child"]["descendants"] == [ids["grandchild"]]
    assert rows["grandchild"]["parent"]["name"] == "child"
    assert rows["grandchild"]["descendants"] == rows["owner"]["descendants"] == []


async def test_the_descendants_of_a_key_stay_until_they_are_asked_for(
    family: Family,
) -> None:
    owner = await three_generations(family)
    revoked = (await owner.delete(f"{PATH}/{family.ids['parent']}")).json()
    assert await family.valid() == {"owner", "child", "other child", "grandchild"}
    assert (await family.rows())["child"]["parent"]["revoked_at"] == revoked["revoked_at"]
    assert len(revoked["descendants"]) == 3
    later = (await owner.delete(f"{PATH}/{family.ids['parent']}?descendants=true")).json()
    assert later["revoked_at"] == revoked["revoked_at"]
    assert await family.valid() == {"owner"}


async def test_a_key_is_revoked_with_all_its_descendants_also_when_a_key_between_is_over(
    services: Services, family: Family, account: Account
) -> None:
    owner = await three_generations(family)
    await owner.delete(f"{PATH}/{family.ids['child']}")
    before = await services.stores.mongodb["audit"].count_documents({"action": "api_key.revoked"})
    answer = await owner.delete(f"{PATH}/{family.ids['parent']}?descendants=true")
    assert (answer.status, answer.json()["descendants"]) == (200, [])
    assert await family.valid() == {"owner"}
    listed = await family.apis["grandchild"].get(f"{PATH}?accountId={account.id}")
    assert (listed.status, listed.error) == (401, "API key: revoked")
    revoked = services.stores.mongodb["audit"].find({"action": "api_key.revoked"})
    names = [one["target"]["name"] async for one in revoked.sort("_id", 1)][before:]
    assert names == ["parent", "other child", "grandchild"]


async def test_revoking_a_key_takes_its_scopes(family: Family) -> None:
    await family.found("owner")
    weak = await family.found("weak", "keys:write")
    await family.found("strong", "keys:write", "links:read")
    for name, lacking in (("owner", "some of all"), ("strong", "links:read")):
        refused = await weak.delete(f"{PATH}/{family.ids[name]}")
        message = f"API key: “{name}” has scopes that you lack: {lacking}"
        assert (refused.status, refused.error) == (403, message)
        assert refused.headers["X-Error-Code"] == "missing_scope"
    assert await family.valid() == {"owner", "weak", "strong"}


async def test_revoking_descendants_takes_their_scopes_and_revokes_all_or_none(
    services: Services, family: Family
) -> None:
    await three_generations(family)
    weak = await family.found("weak", "keys:write")
    stronger = {"$set": {"scopes": ["keys:write", "links:read"]}}  # as no release would make it
    await services.stores.mongodb["api_keys"].update_one({"name": "grandchild"}, stronger)
    path = f"{PATH}/{family.ids['parent']}"
    refused = await weak.delete(f"{path}?descendants=true")
    assert (refused.status, "“grandchild”" in refused.error) == (403, True)
    assert "parent" in await family.valid()
    assert (await weak.delete(path)).status == 200
    assert "grandchild" in await family.valid()


async def test_a_key_may_revoke_itself_with_everything_that_it_made(family: Family) -> None:
    await three_generations(family)
    path = f"{PATH}/{family.ids['parent']}?descendants=true"
    assert (await family.apis["parent"].delete(path)).status == 200
    assert await family.valid() == {"owner"}


async def test_a_key_makes_none_that_outlives_its_own_revocation_at_the_same_moment(
    family: Family, account: Account
) -> None:
    owner = await family.found("owner")
    for n in range(6):
        parent = await family.found(f"parent {n}", "keys:write")
        body = {"accountId": str(account.id), "name": f"child {n}", "scopes": ["keys:write"]}
        revoke = owner.delete(f"{PATH}/{family.ids[f'parent {n}']}?descendants=true")
        await asyncio.gather(revoke, *(parent.post(PATH, **body) for _ in range(3)))
    assert await family.valid() == {"owner"}


async def test_links_that_descendants_made_end_with_them(
    services: Services, family: Family, account: Account
) -> None:
    owner = await family.found("owner")
    scopes = [*(SCOPES_OF[Role.VIEWER] or ()), "members:write"]
    await family.found("parent", *scopes, "keys:write")
    child = await family.make("parent", "child", *scopes)
    invitation = {"accountId": str(account.id), "email": "ada@example.com", "role": "viewer"}
    assert (await child.post("/api/invitations", **invitation)).status == 200
    await owner.delete(f"{PATH}/{family.ids['parent']}?descendants=true")
    assert await services.stores.mongodb["invitations"].count_documents({}) == 0


async def test_many_generations_and_many_keys_are_read_as_their_sum_and_not_their_product(
    services: Services, account: Account
) -> None:
    """A leaked key makes a thousand generations in an hour, which must not make the list slow."""
    keys, generations, youngest = services.stores.mongodb["api_keys"], 50, 20
    first, _ = await services.access.api_keys.create(account.id, "first")
    rows = await keys.find({"_id": first.id}).to_list(None)
    for n in range(generations + youngest):
        by = {"kind": "api_key", "id": rows[min(n, generations)]["_id"], "name": "a key"}
        new = {"_id": new_id(), "sha256": new_id().bytes, "created_by": by}
        rows.append({**rows[0], **new, "revoked_at": now() if n < generations else None})
    await keys.insert_many(rows[1:])
    async with profiled(services.stores.mongodb.database) as answers:
        found = await services.access.api_keys.family.descendants(account.id)
    last = [row["_id"] for row in rows[-youngest:]]
    assert found == {row["_id"]: last for row in rows[: generations + 1]}
    assert sum(one["responseLength"] for one in answers) < 200 * (generations + youngest)
