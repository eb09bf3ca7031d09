"""Dub: its API, and the CSV of its links."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.imports.reading import TableApi, read_api, read_sample, rule, split
from tracker.clicks.country import COUNTRIES
from tracker.imports.item import Loss, RefusedRow, SourceLink, SourcePassword

CREATED = datetime(2026, 2, 1, 10, tzinfo=UTC)
QUERY = Loss(
    "query", "a visitor's parameter no longer replaces the destination's of that name: both stay"
)
ENDS = Loss("testCompletedAt", "a split goes on until somebody ends it")
ELSEWHERE = "conversions stay at the source"


def record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"link_{number}",
        "domain": "go.ex.test",
        "key": f"k{number}",
        "url": "https://ex.test/",
        "archived": False,
        "disabledAt": None,
        "expiresAt": None,
        "expiredUrl": None,
        "password": None,
        "proxy": False,
        "title": None,
        "rewrite": False,
        "ios": None,
        "android": None,
        "geo": None,
        "testVariants": None,
        "externalId": None,
        "comments": None,
        "tags": [],
        "clicks": 0,
        "leads": 0,
        "sales": 0,
        "createdAt": "2026-02-01T10:00:00.000Z",
    } | changes


def link(number: int, **changes: Any) -> SourceLink:
    known: dict[str, Any] = {
        "id": f"link_{number}",
        "row": number,
        "domain_name": "go.ex.test",
        "path": f"k{number}",
        "destination_url": "https://ex.test/",
        "created_at": CREATED,
        "clicks": 0,
    }
    return SourceLink(**known | changes)


EVERYTHING = record(
    1,
    key="Spring/Sale",
    url="https://ex.test/s?a=1",
    expiresAt="2026-12-31T23:00:00.000Z",
    expiredUrl="https://ex.test/over",
    password="s3cret",
    proxy=True,
    title="Sale",
    rewrite=True,
    ios="https://ex.test/ios",
    android="https://ex.test/android",
    geo={"DE": "https://ex.test/de", "US": "https://ex.test/us", "AT": "https://ex.test/de"},
    testVariants=[
        {"url": "https://ex.test/a", "percentage": 30},
        {"url": "https://ex.test/b", "percentage": 70},
    ],
    testCompletedAt="2099-03-15T00:00:00.000Z",
    trackConversion=True,
    folderId="fold_1",
    webhookIds=["wh_1"],
    externalId="e1",
    comments="n",
    tags=[{"id": "tag_1", "name": "spring", "color": "red"}],
    clicks=42,
    leads=3,
    sales=1,
)
PAGES = [
    [EVERYTHING, *(record(number) for number in range(2, 101))],
    [
        record(101, archived=True, disabledAt="2026-03-01T00:00:00.000Z"),
        record(102, key="_root", url=""),
        record(103, key="_root", url="https://ex.test/root"),
        record(104, domain="dub.sh", key="xn--ls8h/a"),
        record(105, url="mailto:a@ex.test", password="s3cret"),
    ],
]
AFTER = {None: 0, "link_100": 1}


def answer(path: str, parameters: Mapping[str, Any]) -> Any:
    assert path == "links" and parameters["showArchived"] == "true"
    return PAGES[AFTER[parameters.get("startingAfter")]]


def test_the_api_gives_links_also_archived_and_disabled_ones() -> None:
    first, *others = read_api("dub", TableApi(answer))
    assert first == link(
        1,
        path="Spring/Sale",
        destination_url="https://ex.test/s?a=1",
        expires_at=datetime(2026, 12, 31, 23, tzinfo=UTC),
        expired_url="https://ex.test/over",
        password=SourcePassword("plain", "s3cret"),
        internal_name="Sale",
        external_id="e1",
        notes="n",
        tags=("spring",),
        clicks=42,
        rules=(
            rule("iOS", "https://ex.test/ios", os=["iOS"]),
            rule("Android", "https://ex.test/android", os=["Android"]),
            rule("DE, AT", "https://ex.test/de", country=["DE", "AT"]),
            rule("US", "https://ex.test/us", country=["US"]),
        ),
        split=split(("https://ex.test/a", 30), ("https://ex.test/b", 70)),
        losses=(
            ENDS,
            Loss("proxy", "previews show the destination"),
            Loss("rewrite", "visitors are redirected, and see the destination's address"),
            Loss("trackConversion", "the destination gets click_id, and no longer dub_id"),
            Loss("folderId", "links have neither folders nor tenants nor partners"),
            Loss("webhookIds", "webhooks are the account's, not a link's"),
            Loss("leads", ELSEWHERE),
            Loss("sales", ELSEWHERE),
            QUERY,
        ),
    )
    assert others[:99] == list(map(link, range(2, 101)))
    *rest, last = others[99:]
    assert rest == [
        link(101, archived=True, active=False),
        RefusedRow(
            row=102,
            field="url",
            reason="is empty, so the domain's root leads nowhere",
            text="link_102, go.ex.test, _root, 2026-02-01T10:00:00.000Z",
        ),
        link(103, path="", destination_url="https://ex.test/root"),
        link(104, domain_name=None, path="💩/a"),
    ]
    assert isinstance(last, RefusedRow)
    assert (last.row, last.field) == (105, "url") and "s3cret" not in last.text


def test_what_no_rule_here_can_be_is_left_out_and_told() -> None:
    variants = [{"url": "https://ex.test/a", "percentage": 100}]
    over = {"testVariants": variants * 2, "testCompletedAt": "2026-03-15T00:00:00.000Z"}
    records = [
        record(1, ios="app://x", geo={"UK": "https://ex.test/uk", "DE": "https://ex.test/de"}),
        record(2, testVariants=variants, testCompletedAt="2099-03-15T00:00:00.000Z"),
        record(3, **over),
    ]
    scheme, too_few, ended = read_api("dub", TableApi(lambda _, __: records))
    assert scheme == link(
        1,
        rules=(rule("DE", "https://ex.test/de", country=["DE"]),),
        losses=(
            Loss(
                "ios",
                "left out (destination_url: must be an absolute http or https URL): app://x if iOS",
            ),
            Loss("geo", "left out (not a country): https://ex.test/uk if UK"),
        ),
    )
    assert isinstance(too_few, SourceLink) and too_few.split is None
    [loss] = too_few.losses
    assert loss.field == "testVariants" and loss.reason.endswith(": https://ex.test/a 100")
    assert ended == link(3)


def test_countries_of_one_destination_are_as_many_rules_as_their_number_needs() -> None:
    codes = sorted(COUNTRIES)[:120]
    geo = dict.fromkeys(codes, "https://ex.test/geo")
    [found] = read_api("dub", TableApi(lambda _, __: [record(1, geo=geo)]))
    assert isinstance(found, SourceLink) and found.losses == ()
    assert [one.conditions[0].country for one in found.rules] == [
        codes[:50],
        codes[50:100],
        codes[100:],
    ]


def test_the_csv_gives_links_without_the_guard_of_formulas() -> None:
    assert read_sample("dub.csv") == [
        link(
            2,
            id="link_1",
            path="Spring/Sale",
            destination_url="https://ex.test/s?a=1,2",
            tags=("spring", "red"),
            clicks=42,
            losses=(QUERY,),
        ),
        link(
            3,
            id="link_2",
            path="💩",
            destination_url="https://ex.test/pile",
            tags=("@home",),
            archived=True,
        ),
        link(4, id="link_3", path="", destination_url="https://ex.test/root", clicks=1),
        link(5, id="link_4", domain_name=None, path="abc", clicks=1),
        RefusedRow(
            row=6,
            field="clicks",
            reason="must be a whole number from 0",
            text="link_5, https://go.ex.test/never, https://ex.test/, No,"
            " 2026-02-01T10:00:00.000Z, many",
        ),
    ]


def test_the_csv_of_the_columns_by_default_names_links_by_their_short_url() -> None:
    assert read_sample("dub-default.csv") == [
        link(
            2,
            id="go.ex.test/Spring/Sale",
            path="Spring/Sale",
            destination_url="https://ex.test/s?a=1,2",
            clicks=42,
            losses=(QUERY,),
        )
    ]
