"""YOURLS: its dump, its API with and without the import plugin, and the CSV of its plugin."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.imports.reading import TableApi, read, read_api, read_sample
from tracker.errors import BadRequest
from tracker.imports.item import RefusedRow, SourceLink, SourceVisit

SCHEME = "must be an absolute http or https URL"


def link(row: int, path: str, url: str, **more: Any) -> SourceLink:
    return SourceLink(
        id=f"/{path}",
        row=row,
        domain_name=None,
        path=path,
        destination_url=url,
        pass_query=False,
        **more,
    )


def test_a_dump_gives_links_and_visits() -> None:
    created = datetime(2024, 1, 2, 1, 4, 5, tzinfo=UTC)  # the dump's zone is +02:00
    at = datetime(2024, 1, 3, tzinfo=UTC)
    assert read_sample("yourls.sql") == [
        SourceVisit(
            link_id="/ab-c", at=at, number=1, user_agent='curl/8 (it\'s; "x")', country="DE"
        ),
        SourceVisit(link_id="/ab-c", at=at, number=2, referrer="https://t.test/a,b"),
        RefusedRow(
            row=3,
            field="click_time",
            reason="is required",
            text="5, 0000-00-00 00:00:00, ab-c, xx",
        ),
        link(
            4,
            "ab-c",
            "https://ex.test/?q=it's",
            internal_name="A 'title'; of two \\ lines",
            created_at=created,
            clicks=3,
        ),
        link(5, "AB-C", "https://ex.test/upper", created_at=created, clicks=0),
        RefusedRow(
            row=6,
            field="url",
            reason=SCHEME,
            text="mail, mailto:a@ex.test, 2024-01-02 03:04:05, 1",
        ),
        link(7, "käse", "https://ex.test/ü?a=(1)", created_at=created, clicks=1),
        RefusedRow(row=8, field="row", reason="is not as this source writes it"),
    ]


def test_a_dump_of_phpmyadmin_tells_its_zone_in_double_quotes() -> None:
    dump = (
        b'-- phpMyAdmin SQL Dump\nSET time_zone = "-03:30";\n'
        b"INSERT INTO `y_url` (`keyword`, `url`, `title`, `timestamp`, `ip`, `clicks`) VALUES\n"
        b"('a', 'https://ex.test/', NULL, '2024-01-02 03:04:05', '', 0);\n"
    )
    created = datetime(2024, 1, 2, 6, 34, 5, tzinfo=UTC)
    assert read("yourls", dump) == [link(1, "a", "https://ex.test/", created_at=created, clicks=0)]


def test_the_csv_of_the_export_plugin_gives_links() -> None:
    assert read_sample("yourls.csv") == [
        link(2, "ab-c", "https://ex.test/?a=1,2", clicks=3),
        link(3, "with-hyphen", "https://ex.test/h", clicks=0),
        RefusedRow(row=4, field="destination_url", reason=SCHEME, text="/ftp/, ftp://ex.test/, 1"),
    ]


def record(path: str, clicks: int | str) -> dict[str, Any]:
    return {
        "shorturl": f"https://sho.test/{path}",
        "url": f"https://ex.test/{path}",
        "title": "T",
        "timestamp": "2024-01-02 03:04:05",
        "ip": "192.0.2.1",
        "clicks": clicks,
    }


def listed(row: int, path: str, clicks: int) -> SourceLink:
    created = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    url = f"https://ex.test/{path}"
    return link(row, path, url, internal_name="T", created_at=created, clicks=clicks)


def test_without_the_plugin_the_api_gives_links_by_pages_and_numbers_as_text() -> None:
    names = [f"l{number}" for number in range(501)]

    def answer(path: str, parameters: Mapping[str, Any]) -> Any:
        assert path == "yourls-api.php" and parameters["format"] == "json"
        if parameters["action"] != "stats":
            raise BadRequest("api: answered 400")
        at = parameters["start"]
        found = names[at : at + parameters["limit"]]
        return {"links": {f"link_{i}": record(one, "7") for i, one in enumerate(found, 1)}}

    api = TableApi(answer)
    warning, *links = read_api("yourls", api)
    assert warning == RefusedRow(
        row=0, field="visits", reason="come by the import plugin alone: api: answered 400"
    )
    assert links == [listed(row, one, 7) for row, one in enumerate(names, 1)]
    assert [sent["start"] for _, sent in api.requests[1:]] == [0, 500]


def test_with_the_plugin_the_api_gives_visits_too_numbered_from_the_oldest() -> None:
    def log(second: int, agent: str, country: str | None) -> dict[str, str | None]:
        return {
            "click_time": f"2024-01-03 00:00:0{second}",
            "referrer": "direct",
            "user_agent": agent,
            "country_code": country,
            "ip_address": "192.0.2.1",
        }

    visits = {"a": [log(1, "x", "DE"), log(0, "y", ""), log(1, "z", None)]}
    large = "api: HTTPStreamClosedError"

    def answer(_: str, parameters: Mapping[str, Any]) -> Any:
        if parameters["action"] == "shlink-list":
            links = [record("big", 90_000), record("a", 4), record("b", 0)]
            return {
                "result": [{**one, "keyword": one["shorturl"].rpartition("/")[2]} for one in links]
            }
        if parameters["shortCode"] == "big":
            raise BadRequest(large)
        return {"result": visits[parameters["shortCode"]]}

    def visit(second: int, number: int, agent: str, country: str = "") -> SourceVisit:
        at = datetime(2024, 1, 3, 0, 0, second, tzinfo=UTC)
        return SourceVisit(link_id="/a", at=at, number=number, user_agent=agent, country=country)

    assert read_api("yourls", TableApi(answer)) == [
        listed(1, "big", 90_000),
        RefusedRow(row=1, field="visits", reason=f"of big stay in its total: {large}"),
        listed(2, "a", 4),
        visit(0, 0, "y"),
        visit(1, 0, "x", "DE"),
        visit(1, 1, "z"),
        listed(3, "b", 0),
    ]
