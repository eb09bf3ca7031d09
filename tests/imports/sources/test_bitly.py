"""Bitly: its API, and the CSV of its links."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.imports.reading import TableApi, read_api, read_sample
from tracker.imports.item import Loss, RefusedRow, SourceLink

CREATED = datetime(2020, 10, 26, 17, 20, 40, tzinfo=UTC)


def record(id_: str, *printed: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "link": f"https://{id_}",
        "custom_bitlinks": [f"https://{one}" for one in printed],
        "long_url": "https://ex.test/",
        "title": None,
        "archived": False,
        "created_at": "2020-10-26T17:20:40+0000",
        "tags": [],
    } | changes


def link(row: int, id_: str, domain_name: str | None, path: str, **more: Any) -> SourceLink:
    return SourceLink(
        id=id_,
        row=row,
        domain_name=domain_name,
        path=path,
        destination_url="https://ex.test/",
        created_at=CREATED,
        **more,
    )


PAGES = {
    ("G/1", None): (
        [
            record("go.ex.test/3abc", "go.ex.test/sale", title="A\x01 \n title", tags=["a"]),
            record("bit.ly/4abc", archived=True),
        ],
        "next",
    ),
    ("G/1", "next"): ([record("bit.ly/5abc", "go.ex.test/both", "to.ex.test/both")], ""),
    ("G2", None): ([record("bit.ly/6abc", long_url="tel:1")], ""),
}


def answer(path: str, parameters: Mapping[str, Any]) -> Any:
    if path == "v4/groups":
        return {"groups": [{"guid": "G/1"}, {"guid": "G2"}]}
    assert parameters["archived"] == "both"
    group = path.removeprefix("v4/groups/").removesuffix("/bitlinks").replace("%2F", "/")
    links, after = PAGES[group, parameters.get("search_after")]
    return {"links": links, "pagination": {"search_after": after}}


def test_the_api_gives_printed_paths_with_their_twins_as_aliases() -> None:
    stays = (Loss("link", "bit.ly/5abc stays with Bitly"),)
    assert read_api("bitly", TableApi(answer)) == [
        link(
            1,
            "go.ex.test/3abc",
            "go.ex.test",
            "sale",
            aliases=("3abc",),
            internal_name="A title",
            tags=("a",),
        ),
        link(2, "bit.ly/4abc", None, "4abc", archived=True),
        link(3, "bit.ly/5abc", "go.ex.test", "both", losses=stays),
        link(3, "bit.ly/5abc to.ex.test", "to.ex.test", "both"),
        RefusedRow(
            row=4,
            field="long_url",
            reason="must be an absolute http or https URL",
            text="bit.ly/6abc, https://bit.ly/6abc, tel:1, 2020-10-26T17:20:40+0000",
        ),
    ]


def test_the_csv_gives_links_and_names_columns_that_are_there_twice() -> None:
    other = "https://ex.test/4"
    assert read_sample("bitly.csv") == [
        RefusedRow(row=1, field="Link", reason="is there twice; the first is read"),
        link(
            2,
            "go.ex.test/sale",
            "go.ex.test",
            "sale",
            aliases=("3abc",),
            internal_name="Sale",
        ),
        SourceLink(
            id="/4abc",
            row=3,
            domain_name=None,
            path="4abc",
            destination_url=other,
            created_at=CREATED,
        ),
    ]
