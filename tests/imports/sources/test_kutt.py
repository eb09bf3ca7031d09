"""Kutt: dumps of its three databases, and its API."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.imports.reading import TableApi, read, read_api, read_sample
from tracker.imports.item import Loss, RefusedRow, SourceLink, SourcePassword
from tracker.imports.sources import kutt

ONE = "6f1c0000-0000-4000-8000-000000000001"
TWO = "6f1c0000-0000-4000-8000-000000000002"
CREATED = datetime(2026, 1, 1, tzinfo=UTC)
HASH = "$2a$12$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

PROTECTED = SourceLink(
    id=ONE,
    row=2,
    domain_name="go.ex.test",
    path="aB3",
    destination_url="https://ex.test/",
    created_at=CREATED,
    expires_at=datetime(2026, 12, 31, 23, tzinfo=UTC),
    pass_query=False,
    password=SourcePassword("bcrypt", HASH),
    clicks=9,
)
BANNED = SourceLink(
    id=TWO,
    row=3,
    domain_name=None,
    path="bad",
    destination_url="https://ex.test/b",
    active=False,
    created_at=CREATED,
    pass_query=False,
    clicks=0,
)
LOCAL_TIME = Loss("expire_in", "Kutt on MySQL writes the server's local time: read as UTC")
changed = msgspec.structs.replace


@pytest.mark.parametrize(
    ("database", "protected", "banned"),
    [
        ("mysql", {"notes": "It's one", "losses": (LOCAL_TIME,)}, {}),
        ("sqlite", {"notes": "It's one\r\nof two (\\lines)"}, {"notes": "Tab\t, \\ and ä"}),
        (
            "postgres",
            {
                "notes": "It's one\nof \\ two;",
                "created_at": CREATED.replace(microsecond=500_000),
            },
            {},
        ),
    ],
)
def test_a_dump_gives_links_with_hashes_and_totals(
    database: str, protected: dict[str, Any], banned: dict[str, Any]
) -> None:
    links = [one for one in read_sample(f"kutt-{database}.sql") if isinstance(one, SourceLink)]
    assert links == [changed(PROTECTED, **protected), changed(BANNED, **banned)]


def test_a_link_of_no_domain_and_one_of_another_scheme_are_refused() -> None:
    found = [one for one in read_sample("kutt-mysql.sql") if isinstance(one, RefusedRow)]
    assert [(one.row, one.field, one.reason) for one in found] == [
        (4, "domain_id", "no domain of that id stands before it"),
        (5, "target", "must be an absolute http or https URL"),
    ]


def test_domains_in_memory_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kutt, "_MAX_DOMAINS", 1)
    dump = b"PRAGMA foreign_keys=OFF;\nINSERT INTO domains (id, address) VALUES (1,'a'),(2,'b');"
    refused = RefusedRow(row=2, field="domains", reason="more than 1", text="2, b")
    assert read("kutt", dump) == [refused]


def test_the_api_gives_links_by_pages_whose_passwords_are_not_known() -> None:
    record = {
        "address": "aB3",
        "banned": False,
        "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z",
        "password": True,
        "description": "d",
        "expire_in": "2026-12-31 23:00:00",
        "target": "https://ex.test/",
        "visit_count": 9,
        "domain": "go.ex.test",
        "link": "https://go.ex.test/aB3",
    }
    banned = {"address": "bad", "banned": True, "password": False, "domain": None}
    banned |= {"target": "https://ex.test/b", "visit_count": 0, "description": None}
    records = [{**record, "id": str(number)} for number in range(50)]
    records.append({**record, **banned, "expire_in": None, "id": TWO})

    def answer(path: str, parameters: Mapping[str, Any]) -> Any:
        assert path == "api/v2/links"
        at = parameters["skip"]
        return {"total": 51, "data": records[at : at + parameters["limit"]]}

    *protected, last = read_api("kutt", TableApi(answer))
    assert protected == [
        changed(
            PROTECTED,
            id=str(number),
            row=number + 1,
            notes="d",
            password=SourcePassword("unknown"),
            losses=(LOCAL_TIME,),
        )
        for number in range(50)
    ]
    assert last == changed(BANNED, row=51)
