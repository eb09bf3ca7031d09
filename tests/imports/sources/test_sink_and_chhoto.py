"""Sink and Chhoto: their JSON as a file, and by their APIs."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.imports.reading import SAMPLES, TableApi, read_api, read_sample, rule
from tracker.access.passwords import Passwords
from tracker.imports.item import Loss, RefusedRow, SourceLink, SourcePassword

CREATED = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
EXPIRES = datetime(2027, 1, 15, 8, tzinfo=UTC)
QUERY = "a visitor's parameter no longer replaces the destination's of that name: both stay"


def link(row: int, path: str, url: str = "https://ex.test/", **more: Any) -> SourceLink:
    known: dict[str, Any] = {"id": f"/{path}", "domain_name": None, "path": path}
    return SourceLink(row=row, destination_url=url, **known | more)


def sink(row: int, path: str, url: str = "https://ex.test/", **more: Any) -> SourceLink:
    return link(row, path, url, **{"created_at": CREATED, "pass_query": False} | more)


SINK = [
    sink(
        1,
        "docs",
        "https://ex.test/?a=1",
        internal_name="T",
        tags=("a",),
        expires_at=EXPIRES,
        notes="c",
        pass_query=True,
        rules=(
            rule("Android", "https://g.test", os=["Android"]),
            rule("iOS", "https://a.test", os=["iOS"]),
            rule("US", "https://us.test", country=["US"]),
        ),
        losses=(Loss("query", QUERY),),
    ),
    sink(
        2,
        "secret",
        "https://ex.test/?a=1",
        # Of "open sesame", whose last characters stand beside the hash, and are gone.
        password=SourcePassword(
            "pbkdf2",
            "pbkdf2-sha256$100000$c2FsdHNhbHRzYWx0c2FsdA$ZlyMsyg8UImDkg487RWJO6r2T2n9342nSd_dVylWWcI",
        ),
        losses=(Loss("cloaking", "visitors are redirected, and see the destination's address"),),
    ),
    sink(3, "old", password=SourcePassword("plain", "pläin: [x]")),
    sink(4, "masked", password=SourcePassword("unknown")),
    RefusedRow(
        row=5,
        field="password",
        reason="is hashed in a way that is not known",
        text="k5, new-hash, https://ex.test/",
    ),
    RefusedRow(
        row=6, field="row", reason="is not as this source writes it", text="k6, https://ex.test/"
    ),
]


def test_an_export_of_sink_gives_links_with_hashes() -> None:
    assert read_sample("sink.json") == SINK


def test_the_api_of_sink_gives_the_same_by_its_cursor() -> None:
    links = json.loads((SAMPLES / "sink.json").read_text("utf-8"))["links"]

    def answer(path: str, parameters: Mapping[str, Any]) -> Any:
        assert path == "api/link/export"
        if not parameters:
            return {"links": links[:2], "cursor": "c/2", "list_complete": False}
        assert parameters == {"cursor": "c/2"}
        return {"links": links[2:], "list_complete": True}

    assert read_api("sink", TableApi(answer)) == SINK


def test_a_file_of_chhoto_gives_links_with_totals() -> None:
    assert read_sample("chhoto.json") == [
        link(1, "ab", notes="two\nlines", clicks=3),
        link(2, "cd", "https://ex.test/2", expires_at=EXPIRES, clicks=0),
        RefusedRow(
            row=3,
            field="longlink",
            reason="must be an absolute http or https URL",
            text="app, whatsapp://send",
        ),
    ]


def test_the_api_of_chhoto_gives_all_links_in_one_answer() -> None:
    names = [f"l{number}" for number in range(501)]
    links = [{"shortlink": one, "longlink": "https://ex.test/", "hits": 0} for one in names]
    api = TableApi(lambda _, __: links)
    assert read_api("chhoto", api) == [link(row, one, clicks=0) for row, one in enumerate(names, 1)]
    assert api.requests == [("api/all", {})]


async def test_a_hash_of_sink_is_that_of_its_password() -> None:
    hashed = SINK[1]
    assert isinstance(hashed, SourceLink) and hashed.password is not None
    passwords = Passwords()
    assert await passwords.verify(hashed.password.text, "open sesame")
    assert not await passwords.verify(hashed.password.text, "ame")
    passwords.close()
