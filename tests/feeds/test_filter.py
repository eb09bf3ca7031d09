"""Filters let pass what a plain reading of their words lets pass, by time and by storing."""

from collections.abc import Mapping
from random import Random
from typing import Any
from uuid import UUID

import pytest

from tests.factories import AT_MS, create_link, make_click_document, make_event_document
from tests.feeds.scene import ACCOUNT, follow, pages_of, store_arrivals
from tracker.clock import moment
from tracker.conversions.corrections.status import Status
from tracker.feeds.feed import Feed
from tracker.feeds.filter import FeedFilter
from tracker.feeds.page import Bookmark
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import run_in_transaction

TAG, OTHER_TAG = new_id(), new_id()
CONFIGS = [new_id(), new_id()]
HOST = "tracker.test"
VALUES: dict[str, list[Any]] = {
    "country": ["DE", "FR", "unknown"],
    "device": ["mobile", "desktop"],
    "browser": ["Chrome", "Firefox"],
    "os": ["Android", "iOS"],
    "domain_name": ["", "go.example.com"],
    "bot": [None, None, "crawler", "prefetch"],
    "referrer_host": [None, "a.example", "b.example"],
    "utm_source": [None, "mail", "$where", "a.b"],
    "utm_content": [None, "none"],
    "rule_id": [None, UUID(int=1), UUID(int=2)],
    "variant_id": [None, UUID(int=3)],
    "parent_link_id": [None, UUID(int=4)],
}
SHOWN = {
    "domain_name": "domain",
    "referrer_host": "referrer",
    "rule_id": "rule",
    "variant_id": "variant",
    "parent_link_id": "parent_link",
}
OPTIONAL = (
    *("referrer_host", "utm_source", "utm_content"),
    *("rule_id", "variant_id", "parent_link_id"),
)
MISSING = dict.fromkeys(("bot", *OPTIONAL), "none") | {"referrer_host": "direct"}


def shown(name: str, value: Any) -> Any:
    """Return a value of a click as filters name it."""
    if value is None:
        return MISSING[name]
    return HOST if (name, value) == ("domain_name", "") else str(value)


def random_values(random: Random) -> dict[str, Any]:
    picked = {name: random.choice(values) for name, values in VALUES.items()}
    return {name: one for name, one in picked.items() if one is not None or name not in OPTIONAL}


def random_filter(random: Random, link_ids: list[UUID], **fields: Any) -> FeedFilter:
    """Return a filter by up to three dimensions, with one or more values of each."""
    names = random.sample(sorted(VALUES), random.randrange(4))
    values: dict[str, list[Any]] = {
        SHOWN.get(name, name): [
            shown(name, one) for one in random.sample(VALUES[name], random.randrange(1, 3))
        ]
        for name in names
    }
    if random.random() < 0.3:
        values["link"] = random.sample(link_ids, 2)
    if random.random() < 0.3:
        values["tag"] = random.sample([TAG, OTHER_TAG], random.randrange(1, 3))
    if random.random() < 0.3:
        fields["first"] = moment(AT_MS + random.randrange(20))
        fields["last"] = moment(AT_MS + random.randrange(20, 40))
    bots: Any = random.choice(["include", "exclude", "only"])
    all_tags = random.random() < 0.5
    return FeedFilter(values=values, bots=bots, all_tags=all_tags, **fields)


def passes(document: Mapping[str, Any], wanted: FeedFilter, tags: Mapping[UUID, set[UUID]]) -> bool:
    """Return whether a document passes, read as the words of the filter say."""
    link_id = document.get("link_id")
    is_event = "status" in document
    at = document["at"]
    if not (wanted.first or at) <= at <= (wanted.last or at):
        return False
    for name in VALUES:
        values = wanted.values.get(SHOWN.get(name, name))
        own = shown(name, document.get(name)) if link_id or not is_event else "unknown"
        if values is not None and own not in map(str, values):
            return False
    if wanted.values.get("link") and link_id not in wanted.values["link"]:
        return False
    if named := set(wanted.values.get("tag", ())):
        own_tags = tags.get(link_id, set()) if link_id else set()
        if not (named <= own_tags if wanted.all_tags else named & own_tags):
            return False
    configs = wanted.values.get("event")
    if configs and str(document["event_config_id"] or "none") not in configs:
        return False
    if wanted.attributions and document["status"] not in wanted.attributions:
        return False
    if wanted.statuses and document.get("reported", "approved") not in wanted.statuses:
        return False
    if wanted.currencies and document.get("currency") not in wanted.currencies:
        return False
    is_bot = document.get("bot") is not None
    left_out = {"include": False, "exclude": is_bot and not is_event, "only": not is_bot}
    return not left_out[wanted.bots]


async def links_with_tags(services: Services) -> dict[UUID, set[UUID]]:
    tags = [[], [TAG], [OTHER_TAG], [TAG, OTHER_TAG]]
    links = [
        await create_link(services, ACCOUNT, f"s{number}", tags=one)
        for number, one in enumerate(tags)
    ]
    return {link.id: set(link.tags) for link in links}


async def check(
    feed: Feed[Any],
    bookmark: Bookmark,
    documents: list[dict[str, Any]],
    wanted: list[FeedFilter],
    tags: Mapping[UUID, set[UUID]],
) -> None:
    """Check that every filter lets the right documents pass, newest first and as stored."""
    for one in wanted:
        expected = [row["_id"] for row in documents if passes(row, one, tags)]
        by_time = await pages_of(feed, one, size=7)
        assert [row.id for page in by_time for row in page.rows] == expected[::-1], one
        stored = await pages_of(feed, one, bookmark, 7)
        assert [row.id for page in stored for row in page.rows] == expected, one


@pytest.mark.parametrize("seed", range(3))
async def test_filters_find_the_clicks_that_pass_one_by_one(services: Services, seed: int) -> None:
    random, tags = Random(seed), await links_with_tags(services)
    documents: Any = [
        make_click_document(
            account_id=ACCOUNT,
            link_id=random.choice(list(tags)),
            at=moment(AT_MS + number),
            **random_values(random),
        )
        for number in range(40)
    ]
    wanted = [random_filter(random, list(tags)) for _ in range(15)]
    follower = await follow(services.feeds.click_feed, ACCOUNT)
    await services.stores.mongodb["clicks"].insert_many(documents)
    stored = [{**row, **{f: row[f].bytes for f in ("_id", "account_id")}} for row in documents]
    await run_in_transaction(
        services.stores.mongodb.database,
        lambda session: store_arrivals(services, 0, session, stored),
    )
    await check(services.feeds.click_feed, follower.bookmark, documents, wanted, tags)


@pytest.mark.parametrize("seed", range(3))
async def test_filters_find_the_conversions_that_pass_one_by_one(
    services: Services, seed: int
) -> None:
    random, tags = Random(seed), await links_with_tags(services)
    documents: Any = [
        make_event_document(
            number,
            account_id=ACCOUNT,
            event_config_id=random.choice([None, *CONFIGS]),
            at=moment(AT_MS + number),
            **random.choice([{}, {"reported": "rejected"}, {"currency": "EUR"}]),
            **(
                {**random_values(random), "link_id": random.choice(list(tags))}
                | {"status": "attributed"}
                if random.random() < 0.7
                else {}
            ),
        )
        for number in range(1, 41)
    ]
    wanted = [random_filter(random, list(tags)) for _ in range(12)]
    wanted += [
        random_filter(random, list(tags), attributions=["attributed"]),
        FeedFilter(statuses=[Status.APPROVED], currencies=["EUR"]),
        FeedFilter(statuses=[Status.REJECTED], currencies=[None]),
        FeedFilter(values={"event": [str(CONFIGS[0]), "none"]}),
        FeedFilter(values={"country": ["unknown", "DE"]}),
        FeedFilter(values={"referrer": ["direct"]}),
        FeedFilter(values={"referrer": ["direct", "unknown"], "bot": ["none", "unknown"]}),
    ]
    follower = await follow(services.feeds.conversion_feed, ACCOUNT)
    await services.stores.mongodb["events"].insert_many(documents)
    stored = [{**row, "account_id": ACCOUNT.bytes} for row in documents]
    await run_in_transaction(
        services.stores.mongodb.database,
        lambda session: store_arrivals(services, 0, session, events=stored),
    )
    await check(services.feeds.conversion_feed, follower.bookmark, documents, wanted, tags)
