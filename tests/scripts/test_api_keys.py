"""API keys, as an operator creates, lists and revokes them."""

from uuid import UUID

import pytest

from tests.scripts.conftest import Awaited, Run
from tracker.errors import Unauthorized
from tracker.ids import new_id
from tracker.service.services import Services


def test_a_key_opens_its_account_until_it_is_revoked(
    run: Run, account_id: str, services: Services, do: Awaited
) -> None:
    (made,) = run.rows("api_keys", "create", "--account", account_id)
    secret = made.pop("key")
    assert made["prefix"] == secret[:12]
    assert (made["account_id"], made["name"], made["scopes"]) == (account_id, "API key", "all")
    assert (made["expires_at"], made["revoked_at"]) == (None, None)
    found = do(services.access.api_keys.authenticate(secret))
    assert (str(found.id), found.scopes) == (made["id"], None)
    (revoked,) = run.rows("api_keys", "revoke", made["id"])
    assert revoked["revoked_at"].endswith("Z")
    assert run.rows("api_keys", "revoke", made["id"]) == [revoked]
    with pytest.raises(Unauthorized):
        do(services.access.api_keys.authenticate(secret))


def test_a_key_is_revoked_with_the_keys_that_it_made(
    run: Run, account_id: str, services: Services, do: Awaited
) -> None:
    async def family() -> list[str]:
        parent, _ = await services.access.api_keys.create(UUID(account_id), "parent")
        by = parent.principal.actor
        child, _ = await services.access.api_keys.create(UUID(account_id), "child", created_by=by)
        return [str(parent.id), str(child.id)]

    parent, child = do(family())
    listed = run.rows("api_keys", "list", "--account", account_id)
    assert [row["parent_id"] for row in listed] == [parent, None]
    alone = run.rows("api_keys", "revoke", parent)
    assert [row["id"] for row in alone] == [parent]
    ended = run.rows("api_keys", "revoke", parent, "--descendants")
    assert [row["id"] for row in ended] == [parent, child]
    assert all(row["revoked_at"] for row in ended)
    entries = do(services.stores.mongodb["audit"].find().to_list(None))
    assert [entry["action"] for entry in entries] == ["api_key.revoked"] * 2


def test_a_key_may_have_few_scopes_and_an_expiry(run: Run, account_id: str) -> None:
    for scopes in (
        ("--scope", "reports:read", "--scope", "links:*"),
        ("--scopes", "reports:read,links:*"),
        ("--scopes", "reports:read links:*"),
    ):
        options = ("--account", account_id, "--name", "reporting", *scopes, "--expires-days", "30")
        (made,) = run.rows("api_keys", "create", *options)
        assert (made["name"], made["scopes"]) == ("reporting", "reports:read links:*")
        assert made["expires_at"] > made["created_at"]


def test_the_list_has_the_newest_first_and_no_secret(run: Run, account_id: str) -> None:
    made = [run.rows("api_keys", "create", "--account", account_id)[0] for _ in range(2)]
    listed = run("api_keys", "list", "--account", account_id, "--json").stdout
    assert all(key["key"] not in listed for key in made)
    rows = run.rows("api_keys", "list", "--account", account_id)
    assert [row["id"] for row in rows] == [key["id"] for key in reversed(made)]


def test_an_unknown_key_exits_1(run: Run) -> None:
    ended = run.process("api_keys", "revoke", str(new_id()))
    assert (ended.returncode, ended.stderr) == (
        1,
        "python -m scripts.api_keys: API key: not found\n",
    )
