"""`ETag`, `If-Match` and `revisions`: a change of a link that somebody else has changed is 412."""

import asyncio
from typing import Any

import orjson

from tests.factories import LANDING, create_link
from tests.links.api.short_links import BULK, PATH, audited, create, stored
from tests.web.client import Response
from tests.web.each import each_case
from tests.web.world import World
from tracker.errors import ErrorCode
from tracker.ids import new_id

OUTDATED = "If-Match: this is not its present version"
UNREADABLE = 'If-Match: must be * or entity tags, such as "1767000000123"'


async def send(world: World, method: str, path: str, if_match: str | None, body: Any) -> Response:
    sent = {"Authorization": f"Bearer {world.secret}"}
    if if_match is not None:
        sent["If-Match"] = if_match
    return await world.client.request(method, f"{PATH}/{path}", sent, orjson.dumps(body))


async def test_an_answer_has_the_revision_as_its_tag_which_a_change_alone_replaces(
    world: World,
) -> None:
    made = (await create(world, external_id="one")).json()
    shown = await send(world, "GET", made["id"], None, {})
    assert shown.headers["ETag"] == f'"{made["revision"]}"'
    same = await send(world, "PATCH", made["id"], None, {})
    assert same.headers["ETag"] == shown.headers["ETag"]
    changed = await send(world, "PATCH", made["id"], shown.headers["ETag"], {"notes": "a"})
    assert changed.headers["ETag"] == f'"{made["revision"] + 1}"'
    body = {"accountId": str(world.account.id), "destination_url": LANDING, "notes": "b"}
    put = await send(world, "PUT", "external/one", changed.headers["ETag"], body)
    assert put.headers["ETag"] == f'"{put.json()["revision"]}"' != changed.headers["ETag"]


@each_case(
    "if_match, status",
    [
        ("*", 200),
        ('"{}"', 200),
        ('"other", "{}"', 200),
        (',"a,b" ,, "{}",', 200),
        ('"other"', 412),
        ('W/"{}"', 412),
        ('"other", W/"{}"', 412),
        ("{}", 400),
        ("", 400),
        ('"{}" "other"', 400),
        ('*, "{}"', 400),
        ('w/"{}"', 400),
    ],
)
async def test_a_condition_is_read_as_in_rfc_9110(world: World, if_match: str, status: int) -> None:
    link = await create_link(world.services, world.account.id, None)
    sent = if_match.format(link.version)
    answers = [
        await send(world, "PATCH", str(link.id), sent, {"internal_name": link.internal_name}),
        await send(world, "PATCH", str(link.id), sent, {}),
        await send(world, "DELETE", str(link.id), sent, {}),
    ]
    assert [one.status for one in answers] == [status] * 3
    if status != 200:
        assert answers[0].error == (OUTDATED if status == 412 else UNREADABLE)
        assert (await stored(world.services, link.id))["version"] == link.version
    if status == 412:
        assert answers[0].headers["X-Error-Code"] == ErrorCode.CHANGED_MEANWHILE


async def test_a_link_that_is_to_exist_is_not_created(world: World) -> None:
    body = {"accountId": str(world.account.id), "destination_url": LANDING}
    for condition in ("*", '"1"'):
        assert (await send(world, "PUT", "external/new", condition, body)).error == OUTDATED
    assert (await send(world, "PATCH", str(new_id()), "*", {})).status == 404
    assert await audited(world.services, world.account) == []


async def test_of_simultaneous_changes_of_one_version_a_single_one_is_made(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    tag, notes = f'"{link.version}"', [str(number) for number in range(8)]
    answers = await asyncio.gather(
        *(send(world, "PATCH", str(link.id), tag, {"notes": one}) for one in notes)
    )
    assert sorted(one.status for one in answers) == [200] + [412] * 7
    [made] = [note for note, one in zip(notes, answers, strict=True) if one.status == 200]
    assert (await stored(world.services, link.id))["notes"] == made
    assert len(await audited(world.services, world.account)) == 1


async def test_a_hash_made_anew_leaves_the_revision(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    renewed = {"password_hash": "x", "renewed_version": link.version + 1}
    await world.services.links.links.change(link.id, renewed)
    answer = await send(world, "PATCH", str(link.id), f'"{link.version}"', {"notes": "a"})
    assert (answer.status, answer.json()["revision"]) == (200, link.version + 2)


async def test_many_links_change_if_each_has_its_revision(world: World) -> None:
    links = [await create_link(world.services, world.account.id, None) for _ in range(2)]
    ids, revisions = [str(one.id) for one in links], [one.version for one in links]

    async def change(**fields: Any) -> Response:
        body = {"accountId": str(world.account.id), "ids": ids, **fields}
        return await world.api.send("PATCH", BULK, orjson.dumps(body))

    short = await change(active=False, revisions=revisions[:1])
    assert (short.status, short.error) == (400, "revisions: must be one for each of ids")
    rows = (await change(active=False, revisions=revisions)).json()["rows"]
    assert [one["revision"] for one in rows] == [one + 1 for one in revisions]
    late = await change(active=True, revisions=[rows[0]["revision"], revisions[1]])
    assert late.error == f"revisions: short link {ids[1]} has another by now"
    assert (late.status, late.headers["X-Error-Code"]) == (412, ErrorCode.CHANGED_MEANWHILE)
    assert not any([(await stored(world.services, one.id))["active"] for one in links])
