"""Unknown paths: what is counted together, what fits, and what is told of the rest."""

import asyncio
from typing import Any

import pytest

from tests.waiting import becomes
from tracker.clock import moment
from tracker.ids import new_id
from tracker.limits.allowance import Allowance
from tracker.links.site import unknown_paths
from tracker.links.site.unknown_paths import MAX_STORED, MAX_WAITING, NO_ROOM, Asked, UnknownPaths
from tracker.service.services import Services

DOMAIN, OTHER = new_id(), new_id()
ADDRESS = "192.0.2.1"


def make(services: Services, per_minute: int = 0) -> UnknownPaths:
    return UnknownPaths(services.stores.mongodb, Allowance(per_minute))


def ask(paths: UnknownPaths, path: str, referrer: str | None = None, domain: Any = DOMAIN) -> None:
    paths.record(domain.hex, path, referrer, ADDRESS)


def at(monkeypatch: pytest.MonkeyPatch, second: int) -> None:
    monkeypatch.setattr(unknown_paths, "now", lambda: moment(second * 1000))


async def test_requests_for_a_path_are_counted_together_whatever_process_has_them(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = make(services), make(services)
    for second, process, path, referrer in (
        (1, one, "spring", None),
        (2, other, "spring", "news.example"),
        (3, one, "autumn", None),
        (5, one, "spring", "shop.example"),
    ):
        at(monkeypatch, second)
        ask(process, path, referrer)
    ask(one, "winter", domain=OTHER)
    await other.store()
    await one.store()
    await one.store()
    assert list((await one.find(DOMAIN)).items()) == [
        ("spring", Asked(moment(1000), moment(5000), 3, "shop.example")),
        ("autumn", Asked(moment(3000), moment(3000), 1)),
    ]


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("a" * 256, "a" * 255),
        ("\u00e4" * 128, "\u00e4" * 127),
        ("a" * 254 + "\U0001f600", "a" * 254),
        ("$set.a/\x00", "$set.a/\x00"),
        ("\ud800", "?"),
    ],
)
async def test_a_path_is_cut_to_255_bytes_between_characters(
    services: Services, path: str, stored: str
) -> None:
    paths = make(services)
    ask(paths, path)
    await paths.store()
    assert list(await paths.find(DOMAIN)) == [stored]


async def test_what_finds_no_room_in_memory_is_counted_by_domain(services: Services) -> None:
    paths = make(services)
    for number in range(MAX_WAITING + 5):
        ask(paths, f"{number}")
    ask(paths, "0")
    ask(paths, "0", domain=OTHER)
    for _ in range(3 * MAX_WAITING):
        ask(paths, "x", domain=new_id())
    assert len(paths._waiting) == 2 * MAX_WAITING
    await paths.store()
    found = await paths.find(DOMAIN)
    # The count of what found no room is one of the stored rows.
    assert sum(asked.count for asked in found.values()) == MAX_WAITING + 6
    assert (found[NO_ROOM].count, len(found)) == (5 + 1, MAX_STORED)
    assert {path: one.count for path, one in (await paths.find(OTHER)).items()} == {NO_ROOM: 1}


async def test_paths_not_asked_for_longest_go_first_and_are_counted(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = [make(services) for _ in range(3)]
    for number, process in enumerate(processes):
        at(monkeypatch, number + 1)
        ask(process, "printed")
        for path in range(600):
            ask(process, f"{number}-{path}")
    await asyncio.gather(*(process.store() for process in processes))
    found = await processes[0].find(DOMAIN)
    assert len(found) == MAX_STORED
    assert found["printed"].count == 3
    assert sum(asked.count for asked in found.values()) == 3 * 601
    kept = [path for path in found if path.startswith(("0-", "1-", "2-"))]
    assert [path[0] for path in kept] == ["2"] * 600 + ["1"] * 398


async def test_new_paths_of_a_client_with_too_many_unknown_names_are_only_counted(
    services: Services,
) -> None:
    misses = Allowance(2)
    paths = UnknownPaths(services.stores.mongodb, misses)
    ask(paths, "a")
    for _ in range(2):
        misses.use(ADDRESS)
    for path in ("a", "b", "c"):
        ask(paths, path)
    await paths.store()
    counts = {path: asked.count for path, asked in (await paths.find(DOMAIN)).items()}
    assert counts == {"a": 2, NO_ROOM: 2}


async def test_a_process_stores_them_when_it_stops(services: Services) -> None:
    process = Services(services.settings)
    ask(process.links.unknown_paths, "spring")
    await process.stop()
    await process.close()

    async def stored() -> list[str]:
        return list(await services.links.unknown_paths.find(DOMAIN))

    await becomes(stored, ["spring"])
