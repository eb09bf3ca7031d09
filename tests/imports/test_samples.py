"""A sample of each source: imported, imported again, changed at its source, and undone."""

import argparse
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, date, datetime
from hashlib import pbkdf2_hmac
from typing import Any, Final, NamedTuple

import bcrypt
import pytest

from scripts import verify
from tests.clicks.protected import type_in
from tests.imports.lines import PATH, done, rows, work
from tests.imports.reading import SAMPLES
from tests.links.names import on_domains
from tests.web.world import World
from tracker.reports.query import ReportQuery

HOST: Final = "go.ex.test"
VISITED: Final = "s.test"
PASSWORD: Final = "open sesame"
_SALT: Final = b"a salt of Sink's"

Fields = dict[str, Any]


def _base64(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


BCRYPT: Final = {
    b"$2a$12$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA": bcrypt.hashpw(
        PASSWORD.encode(), bcrypt.gensalt(4)
    )
}
PBKDF2: Final = {
    b"100000:c2FsdHNhbHRzYWx0c2FsdA:ZlyMsyg8UImDkg487RWJO6r2T2n9342nSd_dVylWWcI": b"1000:%s:%s"
    % (_base64(_SALT), _base64(pbkdf2_hmac("sha256", PASSWORD.encode(), _SALT, 1000, 32)))
}
"""The hashes in samples are of no password, and become those of one."""


class Sample(NamedTuple):
    """A sample, and what an import of it tells and makes.

    `links` have some stored fields by slug, or by path for links with a random one. `opened_by` are
    the passwords of protected links. `change` is what a source has in place of a text later.
    `differ` paths answer otherwise here.
    """

    name: str
    counts: Fields
    links: Mapping[str, Fields]
    change: tuple[bytes, bytes]
    changed: Fields
    opened_by: Mapping[str, str] = {}
    hashes: Mapping[bytes, bytes] = {}
    after: str = ""
    clicks: int = 0
    differ: int = 0


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


def to(path: str, **more: Any) -> Fields:
    return {"destination_url": f"https://ex.test/{path}", **more}


OFF: Final = {"active": False}


def kutt(name: str, **more: int) -> Sample:
    return Sample(
        name,
        {"create": 2} | more,
        {
            "aB3": to("", domain_name=HOST, opening_clicks=9, expires_at=at(2026, 12, 31, 23)),
            "bad": to("b", **OFF),
        },
        (b"https://ex.test/b", b"https://ex.test/new"),
        {"same": 1, "update": 1} | {key: n for key, n in more.items() if key == "refused"},
        {"aB3": PASSWORD},
        BCRYPT,
    )


LINKS_OF_SHLINK: Final = {"abc12": to("?a", domain_name=VISITED, opening_clicks=7)}

TABLE: Final = (
    Sample(
        "yourls.sql",
        {"create": 3, "refused": 3, "visits": 2},
        {
            "ab-c": to("?q=it's", internal_name="A 'title'; of two \\ lines", opening_clicks=1),
            "AB-C": to("upper", created_at=at(2024, 1, 2, 1, 4, 5)),
            "käse": to("ü?a=(1)", paths=["käse"], opening_clicks=1),
        },
        (b"https://ex.test/upper", b"https://ex.test/new"),
        {"same": 2, "update": 1, "refused": 3, "visits_known": 2},
        clicks=1,  # the other visit is a bot's
    ),
    Sample(
        "yourls.csv",
        {"create": 2, "refused": 1},
        {"ab-c": to("?a=1,2", opening_clicks=3), "with-hyphen": to("h")},
        (b"https://ex.test/h", b"https://ex.test/new"),
        {"same": 1, "update": 1, "refused": 1},
    ),
    kutt("kutt-sqlite.sql"),
    kutt("kutt-postgres.sql"),
    kutt("kutt-mysql.sql", create=1, lossy=1, refused=2),
    Sample(
        "shlink-export.csv",
        {"lossy": 1, "refused": 1},
        {
            "abc12": {
                **LINKS_OF_SHLINK["abc12"],
                "internal_name": 'A "title"',
                "tags": ["a", "b, c"],
            }
        },
        (b"https://ex.test/?a", b"https://ex.test/?b"),
        {"update": 1, "refused": 1},
    ),
    Sample(
        "shlink-import.csv",
        {"create": 2, "refused": 1},
        {
            "123": to("1", domain_name=HOST, tags=["bar", "baz", "foo"]),
            "124": to("2", domain_name=VISITED, internal_name="Two", tags=["bar", "foo"]),
        },
        (b"https://ex.test/1", b"https://ex.test/new"),
        {"same": 1, "update": 1, "refused": 1},
    ),
    Sample(
        "shlink-visits.csv",
        {"refused": 2, "visits": 2, "visits_unknown": 1},
        {"abc12": to("?a", opening_clicks=5)},
        (b"2025-06-01T10:00:00", b"2025-06-02T10:00:00"),
        {"refused": 2, "visits": 2, "visits_unknown": 1},
        after="shlink-export.csv",
        clicks=1,
    ),
    Sample(
        "shlink-cli-visits.csv",
        {"visits": 2},
        {"abc12": to("?a", opening_clicks=5)},
        (b"2025-05-01", b"2025-05-02"),
        {"visits": 1, "visits_known": 1},
        after="shlink-export.csv",
    ),
    Sample(
        "dub.csv",
        {"create": 1, "lossy": 2, "refused": 2},
        {
            "Spring/Sale": to(
                "s?a=1,2", paths=["Spring/Sale"], opening_clicks=42, tags=["red", "spring"]
            ),
            "💩": to("pile", tags=["@home"], archived=False, created_at=at(2026, 2, 1, 10)),
            "abc": to("", opening_clicks=1),
        },
        (b"https://ex.test/pile", b"https://ex.test/new"),
        {"same": 2, "update": 1, "refused": 2},
    ),
    Sample(
        "dub-default.csv",
        {"lossy": 1},
        {"Spring/Sale": to("s?a=1,2", paths=["Spring/Sale"], opening_clicks=42)},
        (b"https://ex.test/s", b"https://ex.test/new"),
        {"update": 1},
    ),
    Sample(
        "bitly.csv",
        {"create": 2, "refused": 1},
        {"3abc": to("", slug="sale", internal_name="Sale"), "4abc": to("4")},
        (b"https://ex.test/4", b"https://ex.test/new"),
        {"same": 1, "update": 1, "refused": 1},
    ),
    Sample(
        "sink.json",
        {"create": 1, "lossy": 3, "refused": 2},
        {
            "docs": to("?a=1", expires_at=at(2027, 1, 15, 8), notes="c", tags=["a"]),
            "secret": to("?a=1", pass_query=False),
            "old": to(""),
            "masked": to("", **OFF),
        },
        (b'"comment": "c"', b'"comment": "d"'),
        {"same": 3, "update": 1, "refused": 2},
        {"secret": PASSWORD, "old": "pläin: [x]"},
        PBKDF2,
        differ=1,  # the masked password
    ),
    Sample(
        "chhoto.json",
        {"create": 2, "refused": 1},
        {
            "ab": to("", notes="two\nlines", opening_clicks=3),
            "cd": to("2", expires_at=at(2027, 1, 15, 8)),
        },
        (b"https://ex.test/2", b"https://ex.test/new"),
        {"same": 1, "update": 1, "refused": 1},
    ),
)


class Scene:
    """An account whose two domains take the links of a source."""

    def __init__(self, world: World, sample: Sample, domain_id: str) -> None:
        self.world, self.sample = world, sample
        self._domains = [{"name": "", "domain_id": domain_id}]

    async def imported(self, name: str, *changes: tuple[bytes, bytes]) -> tuple[str, Fields]:
        """Check and run an import of a sample; return its path and counts."""
        data = (SAMPLES / name).read_bytes()
        for before, after in (*self.sample.hashes.items(), *changes):
            assert before in data
            data = data.replace(before, after)
        source = name.partition(".")[0].partition("-")[0]
        sent = {"accountId": str(self.world.account.id), "source": source, "domains": self._domains}
        created = await self.world.api.post(PATH, **sent)
        path = f"{PATH}/{created.json()['id']}"
        sending = await self.world.api.send("POST", f"{path}/file", data)
        assert sending.status == 200, sending.body
        checked = await done(self.world, path, "check")
        told = await rows(self.world, path)
        ran = await done(self.world, path, "run")
        assert ran["state"] == "done", ran["error"]
        dry, wet = (
            {name: n for name, n in counts.items() if not name.startswith("visits")}
            for counts in (checked["counts"], ran["counts"])
        )
        assert dry == wet
        ends = await rows(self.world, path)
        assert [{**one, "link_id": None} for one in ends] == [
            {**one, "link_id": None} for one in told
        ]
        await self.check()
        return path, ran["counts"]

    async def check(self) -> None:
        """`verify` finds no differences, and no password stands in clear."""
        span = argparse.Namespace(
            account=self.world.account.id, first="2020-01-01", last="2030-01-01"
        )
        found = await verify._verify(self.world.services, span)
        assert [one["differences"] for one in found] == [0]
        stored = str(await self.world.stored())
        assert not [one for one in self.sample.opened_by.values() if one in stored]

    async def links(self) -> dict[str, dict[str, Any]]:
        stored = await self.world.stored()
        names = {row["_id"]: row["name"] for row in stored["tags"]}
        return {
            row.get("paths", [row["slug"]])[0]: {
                **row,
                "tags": sorted(names[t] for t in row["tags"]),
            }
            for row in stored["links"]
        }

    async def clicks(self) -> tuple[int, int]:
        query = ReportQuery(
            account_id=self.world.account.id,
            first=date(2020, 1, 1),
            last=date(2030, 1, 1),
            group_by="month",
        )
        totals = (await self.world.services.reports.reports.run(query)).totals
        return totals.clicks, totals.unique_clicks

    async def undone(self, path: str) -> None:
        undone = await done(self.world, path, "undo")
        assert (undone["state"], undone["counts"].get("left", 0)) == ("undone", 0)
        await self.check()

    async def opened(self, path: str, password: str) -> Any:
        link = (await self.links())[path]
        answer = await type_in(self.world.client, f"/{path}", password, Host=link["domain_name"])
        return answer.status, answer.headers.get("Location", "").partition("?")[0]


async def scene_of(world: World, sample: Sample) -> Scene:
    domain, _ = [
        await on_domains.proven(world.services, world.account.id, name) for name in (HOST, VISITED)
    ]
    return Scene(world, sample, str(domain.id))


each_sample = pytest.mark.parametrize("sample", TABLE, ids=[one.name for one in TABLE])


@each_sample
async def test_a_sample_is_imported_again_changed_and_undone(world: World, sample: Sample) -> None:
    scene = await scene_of(world, sample)
    earlier = [(await scene.imported(sample.after))[0]] if sample.after else []
    path, counts = await scene.imported(sample.name)
    assert counts == sample.counts
    links = await scene.links()
    found = {
        name: {field: links[name].get(field) for field in fields}
        for name, fields in sample.links.items()
    }
    assert (links.keys(), found) == (sample.links.keys(), sample.links)
    clicks = (sample.clicks, 0)
    assert await scene.clicks() == clicks

    again, counts = await scene.imported(sample.name)
    assert not counts.keys() & {"create", "lossy", "update", "changed", "conflict", "visits"}
    assert (await scene.links(), await scene.clicks()) == (links, clicks)

    changed, counts = await scene.imported(sample.name, sample.change)
    assert counts == sample.changed
    for one in (changed, again, path, *earlier):
        await scene.undone(one)
    stored = await world.stored()
    for name in ("links", "tags", "imported_links", "job_files", "clicks"):
        assert stored[name] == [], name
    assert await scene.clicks() == (0, 0)


@each_sample
async def test_visitors_of_a_sample_get_what_the_source_answered(
    world: World, sample: Sample
) -> None:
    scene = await scene_of(world, sample)
    if sample.after:
        await scene.imported(sample.after)
    path, _ = await scene.imported(sample.name)
    await world.api.send("POST", f"{path}/cut-over-check")
    await work(world.services)
    answer = await world.api.get(f"{path}/cut-over-check")
    assert answer.json()["differ"] == sample.differ, await rows(world, path)
    for name, password in sample.opened_by.items():
        assert await scene.opened(name, "wrong") == (401, "")
        assert await scene.opened(name, password) == (303, "https://ex.test/")
    await scene.check()
    # A hash that was made anew is no change of a person.
    _, counts = await scene.imported(sample.name, sample.change)
    assert counts == sample.changed
