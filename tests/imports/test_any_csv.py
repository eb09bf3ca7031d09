"""A CSV of somebody's own: odd headings and encodings, columns that its owner chooses."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.imports.lines import PATH, done, outcomes, rows, work
from tests.links.names import on_domains
from tests.web.world import World

HEADINGS = (
    "Kürzel",
    "Wohin?",
    "Was steht da",
    "Schlagwörter",
    "Gültig bis",
    "Zählerstand",
    "Höchstens",
    "Bemerkung",
    "Sperrwort",
    "Gedruckt als",
)
# As Excel writes it: semicolons, quotes where needed, a line break in a cell.
TEXT = "\r\n".join(
    (
        ";".join(HEADINGS),
        "käse/neu;https://ex.test/k?a=1;Käse für 3 €;b|a;2031-12-31 23:00;12;;"
        '"zwei\r\nZeilen; ""so""";;Plakat',
        "gut;https://ex.test/gut;;;;;100;;offen Sesam;Zettel",
        "",
        ";https://ex.test/ohne;;;;;;;;",
        "falsch;ftp://ex.test/;;;;;;;Sesam zwei;",
        "viele;https://ex.test/v;;;;zwölf;;;;",
    )
)
FIELDS = {
    "path": 0,
    "destination_url": 1,
    "internal_name": 2,
    "tags": 3,
    "expires_at": 4,
    "clicks": 5,
    "max_clicks": 6,
    "notes": 7,
    "password": 8,
}
COLUMNS = [{"field": field, "number": number} for field, number in FIELDS.items()]

CHEESE = {
    "paths": ["käse/neu"],
    "domain_name": "go.ex.test",
    "internal_name": "Käse für 3 €",
    "expires_at": datetime(2031, 12, 31, 23, tzinfo=UTC),
    "opening_clicks": 12,
    "notes": 'zwei\r\nZeilen; "so"',
    "active": True,
}


async def sent(world: World, data: bytes, domain_id: str) -> str:
    account_id = str(world.account.id)
    domains = [{"name": "", "domain_id": domain_id}]
    created = await world.api.post(PATH, accountId=account_id, source="csv", domains=domains)
    path = f"{PATH}/{created.json()['id']}"
    answer = await world.api.send("POST", f"{path}/file", data)
    assert (answer.status, answer.json()["format"]) == (200, "CSV"), answer.body
    return path


async def check(world: World, path: str, columns: Any) -> Any:
    account_id = str(world.account.id)
    return await world.api.post(f"{path}/check", accountId=account_id, columns=columns)


async def ran(world: World, data: bytes, domain_id: str) -> tuple[str, dict[str, int]]:
    """Choose the columns of a CSV, check it and import it; return its path and counts."""
    path = await sent(world, data, domain_id)
    assert (await check(world, path, COLUMNS)).status == 200
    await work(world.services)
    shown = await done(world, path, "run")
    assert shown["state"] == "done", shown
    counts: dict[str, int] = shown["counts"]
    return path, counts


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
async def test_a_csv_with_columns_of_its_own_is_imported_once_and_undone(
    world: World, encoding: str
) -> None:
    domain = await on_domains.proven(world.services, world.account.id, "go.ex.test")
    data = TEXT.encode(encoding)
    path = await sent(world, data, str(domain.id))
    shown = (await world.api.get(f"{path}/preview")).json()
    assert (shown["headings"], shown["columns"]) == (list(HEADINGS), [])
    assert [row[0] for row in shown["rows"]] == ["käse/neu", "gut", "", "falsch", "viele"]
    assert shown["rows"][0][7] == 'zwei\r\nZeilen; "so"'
    await check(world, path, COLUMNS)
    await work(world.services)
    told = await outcomes(world, path)
    expected = [
        ("käse/neu", "create", ""),
        ("gut", "create", ""),
        ("", "refused", "path"),
        ("", "refused", "destination_url"),
        ("", "refused", "clicks"),
    ]
    assert told == expected
    assert "Sesam" not in str(await rows(world, path))
    shown = await done(world, path, "run")
    assert shown["counts"] == {"create": 2, "refused": 3}
    stored = await world.stored()
    assert "Sesam" not in str(stored)
    links = {row["destination_url"]: row for row in stored["links"]}
    names = {row["_id"]: row["name"] for row in stored["tags"]}
    cheese, good = links.pop("https://ex.test/k?a=1"), links.pop("https://ex.test/gut")
    assert links == {}
    assert {field: cheese[field] for field in CHEESE} == CHEESE
    assert {names[one] for one in cheese["tags"]} == {"a", "b"}
    assert (good["slug"], good["max_clicks"], good["tags"]) == ("gut", 100, [])
    passwords = world.services.links.passwords
    assert await passwords.verify(good["password_hash"], "offen Sesam")

    again, counts = await ran(world, data, str(domain.id))
    assert counts == {"same": 2, "refused": 3}
    changed = TEXT.replace("https://ex.test/gut", "https://ex.test/besser").encode(encoding)
    last, counts = await ran(world, changed, str(domain.id))
    assert counts == {"same": 1, "update": 1, "refused": 3}
    for one in (last, again, path):
        undone = await done(world, one, "undo")
        assert (undone["state"], undone["counts"].get("left", 0)) == ("undone", 0)
    stored = await world.stored()
    for name in ("links", "tags", "imported_links", "job_files"):
        assert stored[name] == [], name


async def test_columns_that_cannot_be_read_are_refused(world: World) -> None:
    domain = await on_domains.proven(world.services, world.account.id, "go.ex.test")
    path = await sent(world, TEXT.encode("utf-16"), str(domain.id))
    for column, rule in (
        ({"field": "nope", "number": 1}, "columns: field must be id or source_url or "),
        ({"field": "path", "number": -1}, "columns[0].number: must be a whole number >= 0"),
        ({"field": "clicks", "number": 1}, "columns: field must be id or "),
    ):
        answer = await check(world, path, [column, {"field": "clicks", "number": 2}])
        assert answer.status == 400
        assert answer.error.startswith(rule), answer.error
