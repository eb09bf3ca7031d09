"""Dead letters, as an operator lists, replays and drops them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tests.scripts.conftest import Awaited, Run, Stored
from tracker.ids import new_id
from tracker.ingest.record import ENTRY_DECODER
from tracker.journal.dead_letters import DeadLetters
from tracker.service.services import Services


@contextmanager
def refusing(database: Stored) -> Iterator[None]:
    """Make MongoDB reject every click and event while the context is open."""
    for name in ("clicks", "events"):
        database.command("collMod", name, validator={"never": "there"})
    try:
        yield
    finally:
        for name in ("clicks", "events"):
            database.command("collMod", name, validator={})


async def add_dead_letters(services: Services, *payloads: bytes) -> None:
    """Have a real consumer drain the journal."""
    for payload in payloads:
        await services.stores.redis.xadd("journal", {b"1": payload})
    await scene.drained(services)
    assert await services.stores.redis.xlen("journal") == 0


async def add_undecodable_letters(services: Services, number: int) -> list[str]:
    """Add letters that cannot be decoded; return their ids."""
    await add_dead_letters(services, *(b"not MessagePack" for _ in range(number)))
    return [
        one.id
        for one in await DeadLetters(services.stores.redis, ENTRY_DECODER).read_after(None, number)
    ]


def test_dead_letters_are_listed_and_replayed_once_the_cause_is_fixed_and_count_once(
    run: Run, do: Awaited, services: Services, database: Stored
) -> None:
    account_id = new_id()
    clicks = [make_click(account_id) for _ in range(3)]
    payload = msgspec.msgpack.encode([*clicks, make_conversion(7, clicks[0].id)])
    with refusing(database):
        do(add_dead_letters(services, payload))
    assert database["clicks"].count_documents({}) == 0
    letters = run.rows("dead_letters", "list")
    assert [(one["clicks"], one["events"]) for one in letters] == [(1, 0)] * 3 + [(0, 1)]
    assert all("121" in one["reason"] for one in letters)
    assert len({one["journal_id"] for one in letters}) == 1
    assert run.rows("dead_letters", "replay") == [{"replayed": 4}]
    do(add_dead_letters(services, payload))
    assert database["clicks"].count_documents({}) == 3
    assert database["events"].count_documents({}) == 1
    assert run.rows("dead_letters", "list") == []
    (row,) = run.rows("verify")
    assert (row["clicks"], row["conversions"], row["differences"]) == (3, 1, 0)


def test_a_letter_that_cannot_be_decoded_is_listed_and_goes_back_as_it_was(
    run: Run, do: Awaited, services: Services
) -> None:
    fields: Any = {b"2": b"of a later release \xff", b"more": b""}
    do(services.stores.redis.xadd("journal", fields))
    do(scene.drained(services))
    (letter,) = run.rows("dead_letters", "list")
    assert (letter["clicks"], letter["events"]) == (None, None)
    assert letter["reason"] == "ValueError: unknown format 2, more"
    assert letter["buried_at"].endswith("Z")
    assert run.rows("dead_letters", "replay", letter["id"]) == [{"replayed": 1}]
    assert [one for _, one in do(services.stores.redis.xrange("journal"))] == [fields]
    assert do(services.stores.redis.xlen("journal:dead")) == 0


def test_no_address_of_a_visitor_is_shown(run: Run, do: Awaited, services: Services) -> None:
    one = make_click(id=b"no UUID", address="203.0.113.77")
    do(add_dead_letters(services, msgspec.msgpack.encode([one])))
    for arguments in (["list"], ["list", "--json"]):
        shown = run("dead_letters", *arguments)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "203.0.113.77" not in shown.stdout
        assert "ValueError" in shown.stdout


def test_letters_are_replayed_and_dropped_by_id_and_unknown_ids_are_named(
    run: Run, do: Awaited, services: Services
) -> None:
    ids = do(add_undecodable_letters(services, 5))
    assert run.rows("dead_letters", "drop", ids[1], ids[3]) == [{"dropped": 2}]
    assert run.rows("dead_letters", "replay", ids[0]) == [{"replayed": 1}]
    for action, done in (("drop", "dropped"), ("replay", "replayed")):
        ended = run("dead_letters", action, ids[0], ids[2 if action == "drop" else 4], "1-1")
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.endswith(f": 1 {done}; not found: {ids[0]}, 1-1\n")
    assert do(services.stores.redis.xlen("journal:dead")) == 0
    assert do(services.stores.redis.xlen("journal")) == 2


def test_a_list_may_be_read_in_parts(run: Run, do: Awaited, services: Services) -> None:
    ids = do(add_undecodable_letters(services, 5))
    first = run("dead_letters", "list", "--limit", "2")
    assert first.stderr == f"5 in total; next page: --after {ids[1]}\n"
    assert first.stdout.count("\n") == 3
    rest = run.rows("dead_letters", "list", "--after", ids[1], "--limit", "3")
    assert [one["id"] for one in rest] == ids[2:]
    assert run.rows("dead_letters", "list", "--after", ids[-1]) == []


def test_everything_is_dropped_only_if_asked_for(run: Run, do: Awaited, services: Services) -> None:
    do(add_undecodable_letters(services, 3))
    assert run("dead_letters", "drop").returncode == 2
    assert do(services.stores.redis.xlen("journal:dead")) == 3
    assert run.rows("dead_letters", "drop", "--all") == [{"dropped": 3}]
    assert run.rows("dead_letters", "drop", "--all") == [{"dropped": 0}]
    assert run.rows("dead_letters", "replay") == [{"replayed": 0}]
    assert do(services.stores.redis.xlen("journal")) == 0


def test_an_unavailable_redis_is_reported_in_one_line(run: Run) -> None:
    ended = run("dead_letters", "list", REDIS_URL="redis://127.0.0.1:1")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("python -m scripts.dead_letters: Redis: ")
    assert ended.stderr.count("\n") == 1
