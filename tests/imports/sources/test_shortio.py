"""Short.io: its API, with the targeting of each link."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.imports.reading import TableApi, read_api, rule, split
from tracker.imports.item import Loss, RefusedRow, SourceLink, SourcePassword

CREATED = datetime(2026, 2, 1, tzinfo=UTC)


def record(path: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"lnk_{path}",
        "idString": f"lnk_{path}",
        "path": path,
        "originalURL": "https://ex.test/2",
        "title": None,
        "createdAt": "2026-02-01T00:00:00.000Z",
        "expiresAt": None,
        "expiredURL": None,
        "iphoneURL": None,
        "androidURL": None,
        "splitURL": None,
        "splitPercent": None,
        "clicksLimit": None,
        "skipQS": False,
        "hasPassword": False,
        "tags": [],
        "archived": False,
        "cloaking": False,
    } | changes


EVERYTHING = record(
    "two",
    title="T",
    tags=["x"],
    expiresAt=1800000000000,
    expiredURL="https://ex.test/over",
    iphoneURL="https://ex.test/ios",
    androidURL="https://ex.test/android",
    splitURL="https://ex.test/b",
    splitPercent=30,
    clicksLimit=9,
    skipQS=True,
    hasPassword=True,
    archived=True,
    cloaking=True,
)
LINKS = {
    1: [[EVERYTHING, record("")], [record("app", originalURL="app://x")]],
    2: [[record("two")]],
}
COUNTRY = {"id": 1, "country": "DE", "originalURL": "https://ex.test/de"}
REGION = {"id": 1, "country": "US", "region": "NY", "originalURL": "https://ex.test/ny"}


def answer(path: str, parameters: Mapping[str, Any]) -> Any:
    if path == "api/domains":
        return [{"id": 1, "hostname": "Go.ex.test"}, {"id": 2, "hostname": "b.test"}]
    if path == "link_country/lnk_two":
        return [COUNTRY]
    if path == "link_region/lnk_two":
        return [REGION]
    if path.startswith("link_"):
        return []
    assert path == "api/links"
    pages, number = LINKS[parameters["domain_id"]], int(parameters.get("pageToken", 0))
    following = str(number + 1) if number + 1 < len(pages) else None
    return {"links": [dict(one) for one in pages[number]], "nextPageToken": following}


def test_the_api_gives_the_links_of_all_domains_with_their_targeting() -> None:
    first, root, refused, other = read_api("shortio", TableApi(answer))
    rules = (
        rule("iOS", "https://ex.test/ios", os=["iOS"]),
        rule("Android", "https://ex.test/android", os=["Android"]),
        rule("DE", "https://ex.test/de", country=["DE"]),
    )
    region = Loss("link_region", "left out (rules know no regions): https://ex.test/ny if US-NY")
    expected = SourceLink(
        id="lnk_two",
        row=1,
        domain_name="go.ex.test",
        path="two",
        destination_url="https://ex.test/2",
        internal_name="T",
        tags=("x",),
        archived=True,
        created_at=CREATED,
        expires_at=datetime(2027, 1, 15, 8, tzinfo=UTC),
        expired_url="https://ex.test/over",
        max_clicks=9,
        pass_query=False,
        password=SourcePassword("unknown"),
        rules=rules,
        split=split(("https://ex.test/2", 70), ("https://ex.test/b", 30)),
        losses=(
            region,
            Loss("cloaking", "visitors are redirected, and see the destination's address"),
            Loss("clicksLimit", "the source tells no clicks, so they count from 0"),
        ),
    )
    assert first == expected
    assert isinstance(root, SourceLink) and root.path == ""
    assert isinstance(refused, RefusedRow) and refused.field == "originalURL"
    assert isinstance(other, SourceLink)
    assert (other.domain_name, other.rules, other.split) == ("b.test", rules[2:], None)
