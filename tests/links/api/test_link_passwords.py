"""The password of a link over HTTP: it is set, changed and removed, and shown nowhere."""

import asyncio
from uuid import UUID

import orjson
import pytest

from tests.factories import LANDING, create_link
from tests.links.api.short_links import BULK, PATH, audited, create, send, stored
from tests.web.world import World
from tracker.web.limits import MAX_BULK_LINKS

SECRET = " Spaß  und 8 "


async def hash_of(world: World, link_id: str) -> str | None:
    found = await world.services.links.links.find(UUID(link_id))
    assert found is not None
    return found.password_hash


async def test_a_password_is_set_changed_and_removed_and_its_hash_is_all_that_is_stored(
    world: World,
) -> None:
    passwords = world.services.links.passwords
    link = (await create(world, password=SECRET)).json()
    made = await hash_of(world, link["id"])
    assert link["has_password"] is True
    assert made is not None
    assert made.startswith("$argon2id$")
    assert await passwords.verify(made, SECRET)
    assert not await passwords.verify(made, SECRET.strip())
    unchanged = await send(world, "PATCH", link["id"], {"notes": "x"})
    assert (unchanged.json()["has_password"], await hash_of(world, link["id"])) == (True, made)
    await send(world, "PATCH", link["id"], {"password": "x"})
    changed = await hash_of(world, link["id"])
    assert changed != made
    assert await passwords.verify(changed, "x")
    removed = await send(world, "PATCH", link["id"], {"password": None})
    assert removed.json()["has_password"] is False
    row = await stored(world.services, UUID(link["id"]))
    assert not {"password", "password_hash"} & row.keys()


async def test_the_history_says_that_a_password_was_set_changed_or_removed_and_no_more(
    world: World,
) -> None:
    link = await create_link(world.services, world.account.id)
    for password in (SECRET, "another", None):
        await send(world, "PATCH", link.id, {"password": password})
    seen = [one.changes for one in await audited(world.services, world.account)]
    changes = [{name: (one.before, one.after) for name, one in each.items()} for each in seen]
    assert changes == [
        {"password": ("set", None)},
        {"password": ("set", "changed")},
        {"password": (None, "set")},
    ]


async def test_no_answer_export_entry_or_log_has_a_password_or_its_hash(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    made = await create(world, password=SECRET)
    changed = await send(world, "PATCH", made.json()["id"], {"password": f"{SECRET}2"})
    too_long = await create(world, password=SECRET * 20)
    assert too_long.status == 400
    account = f"accountId={world.account.id}"
    listed = await world.api.get(f"{PATH}?{account}&state=protected")
    exported = await world.api.get(f"{PATH}/export?{account}")
    logged = await world.api.get(f"/api/audit?{account}")
    assert b",has_password," in exported.body
    assert b",true," in exported.body
    shown = b"".join(one.body for one in (made, changed, too_long, listed, exported, logged))
    hashed = await hash_of(world, made.json()["id"])
    assert hashed is not None
    for secret in (SECRET.strip(), "argon2", hashed.split("$")[-1]):
        assert secret.encode() not in shown
        assert secret not in caplog.text


async def test_one_password_for_many_links_is_in_the_history_of_each_and_shown_nowhere(
    world: World,
) -> None:
    links = [await create_link(world.services, world.account.id, None) for _ in range(2)]
    body = {"accountId": str(world.account.id), "ids": [str(one.id) for one in links]}
    many = await world.api.send("PATCH", BULK, orjson.dumps({**body, "password": SECRET}))
    assert [row["has_password"] for row in many.json()["rows"]] == [True, True]
    [hashed] = {await hash_of(world, str(one.id)) for one in links}
    assert await world.services.links.passwords.verify(hashed, SECRET)
    permanent = await world.api.send("PATCH", BULK, orjson.dumps({**body, "redirect_status": 301}))
    assert permanent.error == (
        f"redirect_status: 301 is permanent, so not with password: short link {links[0].id}"
    )
    none = await world.api.send("PATCH", BULK, orjson.dumps({**body, "password": None}))
    assert [row["has_password"] for row in none.json()["rows"]] == [False, False]
    entries = await audited(world.services, world.account)
    seen = [(one.changes["password"].before, one.changes["password"].after) for one in entries]
    assert seen == [("set", None)] * 2 + [(None, "set")] * 2
    assert all(one.changes.keys() == {"password"} for one in entries)
    account = f"accountId={world.account.id}"
    exported = await world.api.get(f"{PATH}/export?{account}")
    logged = await world.api.get(f"/api/audit?{account}")
    shown = b"".join(one.body for one in (many, permanent, none, exported, logged))
    assert SECRET.strip().encode() not in shown
    assert b"argon2" not in shown


async def test_links_created_together_have_passwords_of_their_own_and_block_nobody(
    world: World,
) -> None:
    links = [
        {"destination_url": LANDING, "password": f"{number}"} for number in range(MAX_BULK_LINKS)
    ]
    creating = asyncio.create_task(
        world.api.post(BULK, accountId=str(world.account.id), links=links)
    )
    answered = 0
    while not creating.done():
        assert (await world.client.get("/healthz")).status == 200
        answered += 1
    rows = (await creating).json()["rows"]
    assert answered > 1
    assert all(row["has_password"] for row in rows)
    hashed = await hash_of(world, rows[7]["id"])
    assert await world.services.links.passwords.verify(hashed, "7")
