"""Files of imports: stored while they are received, and refused before they are read."""

import asyncio
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders

from tests.imports.lines import A_FILE, PATH, a_link, act, created, file_of, uploaded
from tests.waiting import eventually
from tests.web.world import World
from tracker.errors import PayloadTooLarge
from tracker.jobs.files import PIECE_BYTES, FileWriter
from tracker.web.incoming_body import BodyMemory, IncomingBody
from tracker.web.limits import MAX_UPLOAD_BYTES

LARGE = file_of(*(a_link(f"s{number}") for number in range(40_000)))
"""Several pieces."""


async def pieces(world: World) -> list[bytes]:
    found = world.services.stores.mongodb["job_files"].find().sort("_id", 1)
    return [row["piece"] async for row in found]


async def test_a_file_is_stored_in_pieces_of_which_one_is_in_memory(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = list[int]()
    write = FileWriter.write

    def watched(file: FileWriter, piece: bytes) -> Any:
        waiting.append(len(file._received) + len(piece))
        return write(file, piece)

    monkeypatch.setattr(FileWriter, "write", watched)
    path = await created(world)
    answer = await world.api.send("POST", f"{path}/file", LARGE)
    assert (answer.status, answer.json()["state"]) == (200, "uploaded")
    assert answer.json()["file_bytes"] == len(LARGE) > 3 * PIECE_BYTES
    assert b"".join(await pieces(world)) == LARGE
    assert max(waiting) < 2 * PIECE_BYTES


async def test_a_file_takes_the_place_of_the_one_before(world: World) -> None:
    path = await uploaded(world, a_link("a"))
    other = file_of(a_link("b"))
    assert (await world.api.send("POST", f"{path}/file", other)).status == 200
    assert await pieces(world) == [other]


async def test_a_file_is_refused_without_a_key_before_it_is_read(world: World) -> None:
    path = await created(world)
    request = (
        f"POST {path}/file HTTP/1.1\r\nHost: tracker.test\r\nContent-Length: 100000000\r\n\r\n"
    )
    answer = await world.client.sent(request.encode())
    assert answer.status == 401
    assert await pieces(world) == []


async def test_a_file_that_is_declared_longer_than_allowed_is_refused(world: World) -> None:
    path = await created(world)
    head = f"POST {path}/file HTTP/1.1\r\nHost: tracker.test\r\nConnection: close\r\n"
    head += f"Authorization: Bearer {world.secret}\r\nContent-Length: {MAX_UPLOAD_BYTES + 1}"
    assert (await world.client.sent(f"{head}\r\n\r\n".encode())).status == 413
    assert await pieces(world) == []


async def test_a_file_in_chunks_that_becomes_longer_than_allowed_is_refused_and_not_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await created(world)
    allow = IncomingBody.allow
    monkeypatch.setattr(IncomingBody, "allow", lambda self, _: allow(self, 2 * PIECE_BYTES))
    head = f"POST {path}/file HTTP/1.1\r\nHost: tracker.test\r\nConnection: close\r\n"
    head += f"Authorization: Bearer {world.secret}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%s\r\n" % (PIECE_BYTES, b"x" * PIECE_BYTES)
    assert (await world.client.sent(head.encode() + 3 * chunk + b"0\r\n\r\n")).status == 413

    async def are_gone() -> bool:
        return not await pieces(world)

    await eventually(are_gone)


async def test_a_body_in_chunks_is_passed_on_up_to_its_limit() -> None:
    memory, taken = BodyMemory(100), list[bytes]()
    body = IncomingBody(HTTPHeaders(), memory)
    body.add(b"first")
    body.allow(12)
    await body.pass_on(taken.append)
    assert memory.used == 0
    for piece, exceeds in ((b"second", False), (b"third", True), (b"fourth", True)):
        assert body.add(piece) is None
        assert body.drop_if_exceeded() == exceeds
    assert taken == [b"first", b"second"]
    with pytest.raises(PayloadTooLarge, match="at most 12 bytes"):
        body.content()


async def test_a_file_that_is_none_of_the_source_is_refused_and_not_kept(world: World) -> None:
    path = await created(world)
    for body in (b"", b"no lines"):
        answer = await world.api.send("POST", f"{path}/file", body)
        assert (answer.status, answer.error) == (400, "file: must be lines or columns")
    assert await pieces(world) == []


async def test_a_file_that_an_import_no_longer_awaits_is_not_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await uploaded(world, a_link("a"))
    close = FileWriter.close

    async def meanwhile(file: FileWriter) -> None:
        await close(file)
        assert (await act(world, path, "check")).status == 200

    monkeypatch.setattr(FileWriter, "close", meanwhile)
    answer = await world.api.send("POST", f"{path}/file", file_of(a_link("b")))
    assert answer.status == 400
    assert await pieces(world) == [A_FILE]


async def test_a_file_is_taken_before_the_run_alone(world: World) -> None:
    path = await uploaded(world, a_link("a"))
    assert (await act(world, path, "check")).status == 200
    answer = await world.api.send("POST", f"{path}/file", A_FILE)
    assert answer.error == "state: file is possible in created, uploaded, checked, failed"


async def test_a_client_that_disconnects_leaves_an_import_that_awaits_its_file(
    world: World,
) -> None:
    path = await created(world)
    _, writer = await asyncio.open_connection("127.0.0.1", world.client.port)
    head = f"POST {path}/file HTTP/1.1\r\nHost: tracker.test\r\nContent-Length: {len(LARGE)}\r\n"
    writer.write(f"{head}Authorization: Bearer {world.secret}\r\n\r\n".encode() + LARGE[:-1])
    await writer.drain()

    async def are_stored() -> bool:
        return len(await pieces(world)) > 2

    async def are_gone() -> bool:
        return not await pieces(world)

    await eventually(are_stored)
    writer.close()
    await writer.wait_closed()
    await eventually(are_gone)
    assert (await world.api.get(path)).json()["state"] == "created"
    assert (await world.api.send("POST", f"{path}/file", LARGE)).status == 200


async def test_a_person_sends_a_file_as_bytes(world: World) -> None:
    path = await created(world)
    person = await world.person()
    sent = "POST", f"{path}/file", A_FILE
    assert (await person.send_raw(*sent, {"Content_Type": "text/plain"})).status == 400
    assert (
        await person.send_raw(*sent, {"Content_Type": "application/octet-stream"})
    ).status == 200


async def test_the_sources_are_listed(world: World) -> None:
    await created(world)
    listed = await world.api.get(f"{PATH}/sources?accountId={world.account.id}")
    [lines] = [row for row in listed.json()["rows"] if row["name"] == "lines"]
    assert lines == {
        "name": "lines",
        "label": "Lines",
        "files": ["lines", "columns"],
        "has_api": True,
        "api_address": "",
    }
