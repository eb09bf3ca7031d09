"""The feed of clicks: its rows, filters and cursors, and what no answer has."""

import base64
from typing import Any
from uuid import UUID

from tests.conversions.scene import applied, drain_of
from tests.factories import (
    AT_MS,
    CHROME,
    create_event_config,
    create_link,
    make_click,
    make_conversion,
)
from tests.rooms import replace_parts
from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.clicks.country import Countries
from tracker.clicks.enrich import Enrichment
from tracker.clock import iso, moment
from tracker.feeds.api.cursors import FeedCursors
from tracker.feeds.arrivals import FeedName
from tracker.feeds.page import Bookmark, TimePosition
from tracker.ids import new_id
from tracker.visitor_dimensions import NAMES, UNKNOWN

NOT_A_CURSOR = "cursor: must be the next_cursor of a page of the same account's clicks"
NOT_A_BOOKMARK = "since: must be the since_cursor of a page of the same account's clicks"


async def page(api: KeyedClient, account: Account, query: str = "") -> dict[str, Any]:
    response = await api.get(f"/api/clicks?accountId={account.id}{query}")
    assert response.status == 200, response.body
    found: dict[str, Any] = response.json()
    return found


async def ids(api: KeyedClient, account: Account, query: str = "") -> list[str]:
    return [row["id"] for row in (await page(api, account, query))["rows"]]


async def error(api: KeyedClient, account: Account, query: str) -> str:
    response = await api.get(f"/api/clicks?accountId={account.id}{query}")
    assert response.status == 400
    return response.error


def text_of(click: Any) -> str:
    return str(UUID(bytes=click.id))


async def test_a_click_has_its_link_its_source_and_the_number_of_its_conversions(
    world: World,
) -> None:
    link = await create_link(world.services, world.account.id, "s1")
    config = await create_event_config(world.services, world.account.id)
    click = make_click(
        world.account.id,
        link_id=link.id.bytes,
        domain_name="",
        referrer="https://A.example:8080/\xc3\xa4?b=c",
        query="utm_source=Sp%C3%A4t&utm_term=a+b&x=\xc3\xa4",
    )
    own = {"account_id": world.account.id.bytes, "event_config_id": config.id.bytes}
    events = [make_conversion(number, click.id, **own) for number in (1, 2)]
    await applied(world.services, [click, *events])
    [row] = (await page(world.api, world.account))["rows"]
    expected = {
        "id": text_of(click),
        "at": iso(moment(AT_MS)),
        "country": row["country"],
        "device": "desktop",
        "browser": "Chrome",
        "os": "Windows",
        "bot": None,
        "referrer": "https://A.example:8080/ä?b=c",
        "referrer_host": "a.example",
        "query": "utm_source=Sp%C3%A4t&utm_term=a+b&x=ä",
        "utm_source": "Spät",
        "utm_medium": None,
        "utm_campaign": None,
        "utm_term": "a b",
        "utm_content": None,
        "link": {"id": str(link.id), "internal_name": "A link", "slug": "s1"},
        "domain": world.services.public_url.host,
        "unique": True,
        "conversions": 2,
        "test": False,
        "rule": None,
        "variant": None,
        "consent": None,
        "parent_click_id": None,
        "parent_link_id": None,
        "parameters": {},
    }
    assert list(row.items()) == list(expected.items())


async def test_a_click_from_before_there_were_dimensions_is_unknown_in_them(world: World) -> None:
    await applied(world.services, [make_click(world.account.id)])
    without = {"$unset": dict.fromkeys(NAMES)}
    await world.services.stores.mongodb["clicks"].update_one(
        {"account_id": world.account.id}, without
    )
    [row] = (await page(world.api, world.account))["rows"]
    assert {name: row[name] for name in NAMES} == dict.fromkeys(NAMES, UNKNOWN)


async def test_no_answer_has_an_address_or_a_user_agent_even_if_both_are_stored(
    world: World,
) -> None:
    enrichment = Enrichment(Countries(world.services.settings.geoip_database), store_ip=True)
    replace_parts(world.services, "clicks", enrichment=enrichment)
    since = (await page(world.api, world.account))["since_cursor"]
    click = make_click(world.account.id, address="203.0.113.77", user_agent=f"{CHROME} Secret/7")
    await applied(world.services, [click, make_conversion(1, click.id)])
    stored = await world.services.stores.mongodb["clicks"].find_one({})
    assert stored is not None
    assert (stored["address"], stored["user_agent"]) == ("203.0.113.77", f"{CHROME} Secret/7")
    own = f"accountId={world.account.id}"
    for path in (
        *(f"/api/clicks?{own}", f"/api/clicks?{own}&since={since}"),
        *(f"/api/conversions?{own}", "/api/conversions/1"),
    ):
        answer = await world.api.get(path)
        assert text_of(click).encode() in answer.body
        for secret in (b"203.0.113", b"Secret", b"Mozilla", b"address", b"user_agent"):
            assert secret not in answer.body


async def test_filters_are_those_of_reports_and_may_be_repeated(world: World) -> None:
    tag = await world.services.links.tags.create(world.account.id, "A tag")
    link = await create_link(world.services, world.account.id, "s1", tags=[tag.id])
    clicks = [
        make_click(world.account.id, link_id=link.id.bytes, referrer="", query="", domain_name=""),
        make_click(world.account.id, user_agent="Googlebot/2.1", query="utm_source=a"),
        make_click(world.account.id, at=AT_MS - 86_400_000, query="utm_source=b&utm_medium=c"),
    ]
    await applied(world.services, clicks)
    first, bot, old = map(text_of, clicks)
    day, before = iso(moment(AT_MS))[:10], iso(moment(AT_MS - 86_400_000))[:10]
    for query, expected in {
        "": {first, bot, old},
        f"&link={link.id}": {first},
        f"&link={link.id}&link={new_id()}": {first},
        f"&link[]={new_id()}": set(),
        f"&tag={tag.id}": {first},
        f"&tag={tag.id}&tag={new_id()}&tagOperator=AND": set(),
        "&bots=exclude": {first, old},
        "&bots=only": {bot},
        "&bot=crawler": {bot},
        "&bot=crawler&bot=none": {first, bot, old},
        "&utm_source=a&utm_source=b": {bot, old},
        "&utm_source=none": {first},
        "&utm_source=b&utm_medium=c": {old},
        "&referrer=direct": {first},
        "&referrer=EXAMPLE.com&browser=Chrome": {old},
        f"&domain={world.services.public_url.host}": {first},
        "&domain=GO.example.com": {bot, old},
        f"&from={day}": {first, bot},
        f"&to={before}": {old},
        f"&from={before}&to={day}": {first, bot, old},
        "&from=0001-01-01&to=9999-12-31": {first, bot, old},
        "&from=9999-12-31": set(),
        "&to=0001-01-01": set(),
    }.items():
        assert set(await ids(world.api, world.account, query)) == expected, query


async def test_days_are_of_the_time_zone_of_the_account(world: World) -> None:
    midnight = 1_767_222_000_000  # 2026-01-01 00:00 in Berlin
    clicks = [make_click(world.account.id, at=midnight + more) for more in (-1, 0)]
    await applied(world.services, clicks)
    before, after = map(text_of, clicks)
    assert await ids(world.api, world.account, "&from=2026-01-01") == []
    zone = {"$set": {"time_zone": "Europe/Berlin"}}
    await world.services.stores.mongodb["accounts"].update_one({"_id": world.account.id}, zone)
    assert await ids(world.api, world.account, "&from=2026-01-01") == [after]
    assert await ids(world.api, world.account, "&to=2025-12-31") == [before]


@each_case(
    "query, expected",
    [
        ("&link=x", "link: must be a UUID"),
        ("&tag=x", "tag: must be a UUID"),
        ("&country=DEU", "country: must be two letters such as DE, or unknown"),
        ("&device=phone", "device: must be bot or desktop or mobile or tablet or tv or unknown"),
        ("&domain=..", "domain: must be a hostname such as go.example.com"),
        ("&bot=spider", "bot: must be crawler or headless or library or no_user_agent or none"),
        ("&tagOperator=NOT", "tagOperator: must be AND or OR"),
        ("&from=2026-02-30", "from: must be a date such as 2026-01-31"),
        ("&from=2026-01-02&to=2026-01-01", "from: must not be after to"),
        ("&pageSize=101", "pageSize: must be"),
        ("&utmSource=a", "utmSource: unknown parameter; did you mean utm_source?"),
        ("&page=1", "page: this list is paged by cursor"),
        ("&cursor=x&since=x", "since: not together with cursor"),
        ("&" + "&".join(f"os={number}" for number in range(101)), "os: "),
    ],
)
async def test_a_wrong_filter_is_400_and_names_field_and_rule(
    world: World, query: str, expected: str
) -> None:
    assert (await error(world.api, world.account, query)).startswith(expected)


async def test_cursors_lead_through_all_pages_and_since_to_what_comes_late(world: World) -> None:
    clicks = [make_click(world.account.id, at=AT_MS + number) for number in range(7)]
    await applied(world.services, clicks)
    first = await page(world.api, world.account, "&pageSize=3")
    second = await page(world.api, world.account, f"&pageSize=3&cursor={first['next_cursor']}")
    third = await page(world.api, world.account, f"&pageSize=3&cursor={second['next_cursor']}")
    seen = [row["id"] for one in (first, second, third) for row in one["rows"]]
    assert seen == [text_of(click) for click in reversed(clicks)]
    assert [one["since_cursor"] is None for one in (first, second, third)] == [False, True, True]
    assert third["next_cursor"] is None
    late = [make_click(world.account.id, at=AT_MS - 10**9 * number) for number in range(3)]
    await drain_of(world.services).apply(late[:2])
    await drain_of(world.services).apply(late[2:])
    since, found = first["since_cursor"], []
    for rows, is_over in ((2, False), (1, True), (0, True)):
        answer = await page(world.api, world.account, f"&pageSize=2&since={since}")
        assert list(answer) == ["rows", "next_cursor", "since_cursor", "searched_to"]
        assert (len(answer["rows"]), answer["searched_to"] is None) == (rows, is_over)
        assert answer["next_cursor"] is None
        found += [row["id"] for row in answer["rows"]]
        since = answer["since_cursor"]
    assert found == [text_of(click) for click in late]


async def test_cursors_that_no_page_of_the_feed_has_are_400(
    world: World,
) -> None:
    await applied(world.services, [make_click(world.account.id), make_click(world.account.id)])
    first = await page(world.api, world.account, "&pageSize=1")
    good, since = first["next_cursor"], first["since_cursor"]
    assert len(await ids(world.api, world.account, f"&cursor={good}")) == 1
    conversions = (await world.api.get(f"/api/conversions?accountId={world.account.id}")).json()
    _, secret = await world.services.access.api_keys.create(world.other_account.id, "theirs")
    theirs = await page(KeyedClient(world.client, secret), world.other_account)
    position, bookmark = TimePosition(moment(AT_MS), new_id()), Bookmark(moment(AT_MS), {0: 1})
    others = [
        FeedCursors(FeedName.CLICKS, world.other_account.id).cursor_of(position),
        FeedCursors(FeedName.CONVERSIONS, world.account.id).cursor_of(
            TimePosition(moment(AT_MS), 1)
        ),
        FeedCursors(FeedName.CONVERSIONS, world.account.id).cursor_of(bookmark),
        theirs["since_cursor"],
        conversions["since_cursor"],
    ]
    packed = base64.urlsafe_b64decode(good + "=" * (-len(good) % 4))
    changed = packed[:-1] + bytes([packed[-1] ^ 1])
    made_up = [
        *("", "x", "%C3%A4", "=", good[:-1], good + "A", good + "==", good[:-2] + "__", "A" * 5000),
        *(base64.urlsafe_b64encode(one).rstrip(b"=").decode() for one in (changed, packed + b"x")),
    ]
    for cursor in [*made_up, *others, since]:
        assert await error(world.api, world.account, f"&cursor={cursor}") == NOT_A_CURSOR
    for cursor in [*made_up, *others, good]:
        assert await error(world.api, world.account, f"&since={cursor}") == NOT_A_BOOKMARK


async def test_cursors_of_any_place_are_read_as_they_were_written() -> None:
    feed = FeedCursors(FeedName.CLICKS, new_id())
    position = TimePosition(moment(AT_MS), new_id())
    assert feed.start_of(TimePosition, feed.cursor_of(position)) == position
    for drains in (0, 1, 64):
        bookmark = Bookmark(moment(AT_MS), {one: 2**63 - 1 - one for one in range(drains)})
        assert feed.start_of(Bookmark, feed.cursor_of(bookmark)) == bookmark
