"""Every query that a request or the drain makes is answered from an index, lists in their order.

The queries are those that the code really sends: MongoDB's profiler notes them while the code
runs, and each is then explained.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from tests.factories import (
    AT_MS,
    create_event_config,
    create_link,
    create_webhook,
    make_click_document,
    make_event_document,
)
from tests.stores.mongodb.profiler import profiled
from tracker.calendar import calendar_of
from tracker.clock import moment, now
from tracker.conversions.document import Attribution
from tracker.conversions.event_config import EventConfig
from tracker.errors import NotFound
from tracker.feeds.api.conversion_delays import conversion_delays
from tracker.feeds.api.conversion_warnings import conversion_warnings
from tracker.feeds.arrivals import TRANSACTION_NUMBERS
from tracker.feeds.filter import FeedFilter
from tracker.feeds.page import Bookmark, PageStart, TimePosition
from tracker.feeds.way import later_clicks
from tracker.ids import new_id
from tracker.ingest.calendars import AccountCalendars
from tracker.links.domain import DnsCheck, Domain
from tracker.links.link import Link
from tracker.links.lists.filter import LinkFilter, LinkOrder
from tracker.links.tags import Tag
from tracker.live.new_rows import counts_pipeline, read_new
from tracker.live.recent import live_state
from tracker.reports.answers import names
from tracker.reports.repair.recount import Recount
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import MongoSession
from tracker.stores.redis import keys
from tracker.webhooks.api.statistics import statistics
from tracker.webhooks.creation import create_deliveries
from tracker.webhooks.delivery import DeliveryStatus
from tracker.webhooks.order import postpone_later_ones
from tracker.webhooks.queue import DueWebhook
from tracker.webhooks.queue_repair import QueueRepair

pytestmark = pytest.mark.redis

MANY = 1000
ACCOUNTS = [new_id() for _ in range(5)]
ACCOUNT = ACCOUNTS[0]


async def share_of(services: Services) -> None:
    with pytest.raises(NotFound):
        await services.sharing.shares.open("x" * 43)


async def new_rows(services: Services) -> None:
    """Read new rows, as if drains with two drain numbers had stored some."""
    for number in range(2):
        await services.stores.mongodb[TRANSACTION_NUMBERS].update_one(
            {"_id": number}, {"$set": {"batches": 3}}, upsert=True
        )
    await read_new(services.stores.mongodb.reads, Bookmark(now(), {}), [ACCOUNT, new_id()])
    await services.stores.mongodb.reads.aggregate("clicks", counts_pipeline([new_id(), new_id()]))


class Scene(NamedTuple):
    """Services with `MANY` documents in each collection, of which `ACCOUNT` owns a fifth."""

    services: Services
    link: Link
    rare: Tag
    common: Tag
    domain: Domain
    config: EventConfig
    secret: str
    click_ids: list[UUID]
    webhook_ids: list[UUID]

    @property
    def tags(self) -> list[UUID]:
        return [self.rare.id, self.common.id]

    @property
    def some_clicks(self) -> list[bytes]:
        return [one.bytes for one in self.click_ids[:500]]


Query = Callable[[Services, Scene], Awaitable[Any]]
"""What `s` is asked about what the scene has."""


async def multiplied(services: Services, collection: str, **changed: Callable[[int], Any]) -> None:
    """Store `MANY` copies of the only document in `collection`, with `changed` fields."""
    first = await services.stores.mongodb[collection].find_one({})
    assert first is not None
    rows = [
        {
            **first,
            "_id": new_id(),
            "account_id": ACCOUNTS[number % len(ACCOUNTS)],
            **{name: change(number) for name, change in changed.items()},
        }
        for number in range(MANY)
    ]
    await services.stores.mongodb[collection].insert_many(rows)


async def set_the_scene(services: Services) -> Scene:
    await services.accounts.accounts.create("Acme")
    rare, common = [await services.links.tags.create(ACCOUNT, name) for name in ("rare", "common")]
    domain = await services.links.domains.create(ACCOUNT, "go.example")
    config = await create_event_config(services, ACCOUNT)
    await create_webhook(services, ACCOUNT)
    _, secret = await services.access.api_keys.create(ACCOUNT, "A")
    link = await create_link(services, ACCOUNT, tags=[rare.id, common.id])

    def tags(number: int) -> list[UUID]:
        if number % 50 == 0:
            return [rare.id, common.id]
        return [common.id] if number % 2 == 0 else []

    mongodb = services.stores.mongodb
    await multiplied(
        services,
        "links",
        slug=lambda number: f"s{number}",
        tags=tags,
        archived=lambda number: number % 7 == 0,
        active=lambda number: number % 2 == 0,
    )
    await multiplied(services, "tags", key=lambda number: f"k{number}")
    await multiplied(services, "domains", domain_name=lambda number: f"d{number}.example")
    await multiplied(services, "event_configs", pbk=lambda number: f"p{number}")
    await multiplied(services, "webhooks")
    await multiplied(services, "api_keys", sha256=lambda number: number.to_bytes(32, "big"))
    click_ids = [new_id() for _ in range(MANY)]
    of_link = {"account_id": ACCOUNT, "link_id": link.id}
    await mongodb["clicks"].insert_many(
        make_click_document(_id=one, **of_link, at=moment(AT_MS + number))
        for number, one in enumerate(click_ids)
    )
    await mongodb["events"].insert_many(
        make_event_document(
            number,
            account_id=ACCOUNTS[number % len(ACCOUNTS)],
            click_id=click_id,
            status="pending" if number % 3 else "attributed",
            transaction_scope=config.id,
            at=now(),
            **({"transaction_id": f"t{number}"} if number % 2 else {}),
        )
        for number, click_id in enumerate(click_ids, 1)
    )
    webhook_ids = [row["_id"] async for row in mongodb["webhooks"].find({}, ["_id"])]
    statuses = ("due", "delivered", "failed", "cancelled")
    await mongodb["deliveries"].insert_many(
        {
            "_id": new_id(),
            "webhook_id": webhook_ids[number % 20],
            "account_id": ACCOUNT,
            "event_id": number,
            "status": (status := statuses[number // 20 % 4]),
            "created_at": now(),
            **({"due_at": now()} if status == "due" else {}),
        }
        for number in range(MANY)
    )
    return Scene(services, link, rare, common, domain, config, secret, click_ids, webhook_ids)


def links_page(page: int = 1, order: LinkOrder = "newest", **wanted: Any) -> Query:
    return lambda s, of: s.links.lists.page(
        ACCOUNT,
        LinkFilter(**{name: one(of) if callable(one) else one for name, one in wanted.items()}),
        page,
        25,
        order,
    )


def conversions(after: PageStart | None = None, **wanted: Any) -> Query:
    return lambda s, of: s.feeds.conversion_feed.page(ACCOUNT, FeedFilter(**wanted), after, 25)


def clicks(after: PageStart | None = None, **values: Callable[[Scene], list[UUID | str]]) -> Query:
    return lambda s, of: s.feeds.click_feed.page(
        ACCOUNT,
        FeedFilter(values={name: one(of) for name, one in values.items()}),
        after,
        25,
    )


async def cached(s: Services, cache: Any, name: str) -> None:
    cache.forget(name)
    await s.stores.redis.delete(name)
    assert await cache.get(name) is not None


async def make_deliveries(services: Services) -> None:
    event = {"_id": 5, "account_id": ACCOUNT.bytes, "at": now()}
    async with await services.stores.mongodb.client.start_session() as session:
        await create_deliveries(services.stores.mongodb.database, [event], session)


async def held(s: Services, of: Scene, session: MongoSession) -> None:
    assert await s.links.domains.lock([of.domain.id], session) == {of.domain.id}


LISTS: dict[str, Query] = {
    "links": links_page(),
    "links by name": links_page(order="name"),
    "links by slug": links_page(order="slug"),
    "archived links by slug": links_page(order="slug", archived=True, active=True),
    "links of a slug": links_page(slug="s5"),
    "links of a slug by name": links_page(slug="s5", order="name"),
    "links of a rare tag": links_page(tags=lambda of: [of.rare.id]),
    "links of a common tag": links_page(tags=lambda of: [of.common.id]),
    "links of any of two tags": links_page(tags=lambda of: of.tags),
    "links of any of a hundred tags": links_page(tags=lambda of: [new_id() for _ in range(100)]),
    "links of all of two tags": links_page(tags=lambda of: of.tags, all_tags=True),
    "links that are active": links_page(active=True),
    "links that are found by text": links_page(search="s99"),
    "links filtered by all": links_page(tags=lambda of: of.tags, active=False, search="a"),
    "tags": lambda s, of: s.links.tags.page(ACCOUNT, 2, 25),
    "domains": lambda s, of: s.links.domains.page(ACCOUNT, 2, 25),
    "event configs": lambda s, of: s.conversions.event_configs.page(ACCOUNT, 2, 25),
    "webhooks": lambda s, of: s.webhooks.webhooks.page(ACCOUNT, 2, 25),
    "deliveries": lambda s, of: s.webhooks.deliveries.page(
        of.webhook_ids[0], list(DeliveryStatus), 2, 25
    ),
    "deliveries that failed": lambda s, of: s.webhooks.deliveries.page(
        of.webhook_ids[0], [DeliveryStatus.FAILED], 1, 25
    ),
    "keys": lambda s, of: s.access.api_keys.page(ACCOUNT, 2, 25),
    "keys for the operator": lambda s, of: s.access.api_keys.list(ACCOUNT),
    "event configs for the operator": lambda s, of: s.conversions.event_configs.list(ACCOUNT),
}
SORTED = ("links of a slug", "links that are found by text", "links filtered by all")
FEEDS: dict[str, dict[str, Query]] = {
    "log": {
        "conversions": conversions(),
        "conversions after a position": conversions(TimePosition(now(), 500)),
        "conversions of a state": conversions(attributions=[Attribution.REFUSED]),
        "conversions of a time": conversions(first=moment(AT_MS), last=now()),
        "conversions of an event configuration": conversions(
            TimePosition(now(), 500), values={"event": [str(new_id())]}
        ),
    },
    "by_account": {
        "clicks": clicks(),
        "clicks after a position": clicks(TimePosition(moment(AT_MS + 500), UUID(int=2**128 - 1))),
        "clicks of a bot": clicks(bot=lambda of: ["crawler"]),
        "clicks of a common tag": clicks(tag=lambda of: [of.common.id]),
    },
    "by_link_and_time": {
        "clicks of a link": clicks(link=lambda of: [of.link.id]),
        "clicks of a rare tag": clicks(tag=lambda of: [of.rare.id]),
    },
}
"""Pages of feeds, by the index that gives their order."""

OTHERS: dict[str, Query] = {
    "a link by id": lambda s, of: s.links.links.find(of.link.id),
    "used clicks of links": lambda s, of: s.links.used_clicks.find({of.link.id: ACCOUNT}),
    "a link by slug": lambda s, of: cached(s, s.links.link_cache, keys.link("", of.link.slug)),
    "a changed link": lambda s, of: s.links.links.change(of.link.id, {"active": False}),
    "whether a slug is taken": lambda s, of: s.links.links.has_slug(None, "s7"),
    "links changed together": lambda s, of: s.links.links.change_all(
        [of.link],
        lambda _: {"archived": True},
        lambda session, _: held(s, of, session),
    ),
    "rules that a link had": lambda s, of: s.links.rules.known(of.link),
    "an earlier version of rules": lambda s, of: s.links.rules.find(of.link.id, 1),
    "rules by name": lambda s, of: names._records_with_text(
        s.stores.mongodb.reads, ACCOUNT, "rule", "a"
    ),
    "how many links tags have": lambda s, of: s.links.links.count_by_tag(ACCOUNT, of.tags),
    "any link on a domain": lambda s, of: s.links.links.has_links(of.domain.id),
    "how many links domains have": lambda s, of: s.links.links.count_by_domain(
        [of.domain.id, new_id()]
    ),
    "a tag off its links": lambda s, of: s.links.links.untag(ACCOUNT, of.rare.id),
    "tags by id": lambda s, of: s.links.tags.find([of.rare.id, new_id()]),
    "a renamed tag": lambda s, of: s.links.tags.rename(of.rare.id, "new"),
    "a deleted tag": lambda s, of: s.links.tags.delete(of.rare.id),
    "what DNS says of a domain": lambda s, of: s.links.domains.record_check(
        of.domain.id, DnsCheck(at=now(), txt=[], cname=[], proven=False, error=None)
    ),
    "a domain by id": lambda s, of: s.links.domains.find(of.domain.id),
    "a domain by name": lambda s, of: cached(
        s, s.links.domain_cache, keys.domain(of.domain.domain_name)
    ),
    "a new domain": lambda s, of: s.links.domains.create(ACCOUNT, "new.example"),
    "a deleted domain": lambda s, of: s.links.domains.delete(of.domain.id),
    "an event config by id": lambda s, of: s.conversions.event_configs.find(of.config.id),
    "an event config by its key": lambda s, of: cached(
        s, s.conversions.event_config_cache, keys.event_config(of.config.pbk)
    ),
    "a key by its secret": lambda s, of: s.access.api_keys.authenticate(of.secret),
    "a webhook by id": lambda s, of: s.webhooks.webhooks.find(new_id()),
    "an account by id": lambda s, of: s.accounts.accounts.find(new_id()),
    "an account's time zone": lambda s, of: s.accounts.time_zones.find(new_id()),
    "calendars of accounts": lambda s, of: AccountCalendars(s.stores.mongodb).get(
        [one.bytes for one in ACCOUNTS], now()
    ),
    "clicks by id": lambda s, of: s.clicks.clicks.find([one.bytes for one in of.click_ids[:500]]),
    "clicks that events wait for": lambda s, of: s.conversions.store.awaited(of.some_clicks),
    "clicks that others led to": lambda s, of: s.clicks.clicks.children(of.some_clicks),
    "events without the parents of clicks": lambda s, of: s.conversions.store.without_parent(
        of.some_clicks
    ),
    "the clicks after one": lambda s, of: later_clicks(
        s.stores.mongodb.reads, s.feeds.click_feed, ACCOUNT, of.click_ids[0]
    ),
    "events that wait for clicks": lambda s, of: s.conversions.store.pending(of.some_clicks),
    "an event by its transaction": lambda s, of: s.conversions.look_ups.earlier.submit(
        ([of.config.id, ACCOUNT], "t7")
    ),
    "whose clicks those are": lambda s, of: asyncio.gather(
        *map(s.conversions.look_ups.owners.submit, of.some_clicks)
    ),
    "a conversion by id": lambda s, of: s.feeds.conversion_feed.find(7),
    "links by id": lambda s, of: s.links.links.find_all([of.link.id, new_id()]),
    "event configs by id": lambda s, of: s.conversions.event_configs.find_all([of.config.id]),
    "deliveries by id": lambda s, of: s.webhooks.deliveries.find_all([new_id()]),
    "days with events": lambda s, of: Recount(s.stores.mongodb).days(
        ACCOUNT, "0001-01-01", "9999-12-31"
    ),
    "delays of conversions": lambda s, of: conversion_delays(s.stores.mongodb.reads, ACCOUNT),
    "warnings of conversions": lambda s, of: conversion_warnings(s.stores.mongodb.reads, ACCOUNT),
    "how deliveries went": lambda s, of: statistics(
        s.stores.mongodb.reads, of.webhook_ids[0], calendar_of("UTC")
    ),
    "the last minutes": lambda s, of: live_state(s.stores.mongodb.reads, ACCOUNT, 0),
    "new rows": lambda s, of: new_rows(of.services),
    "a share by its token": lambda s, of: share_of(of.services),
    "whether keys are valid": lambda s, of: s.access.api_keys.principals_of([new_id()]),
    "whether sessions are valid": lambda s, of: s.access.sessions.principals_of([new_id()]),
    "stored events": lambda s, of: s.conversions.store.stored(range(1, 500)),
    "holders of transaction ids": lambda s, of: s.conversions.store.stored_or_holding(
        [], {(of.config.id.bytes, one) for one in ("t7", "t8")} | {(ACCOUNT.bytes, "t7")}
    ),
    "events whose clicks are late": lambda s, of: s.conversions.store.overdue(now()),
    "when webhooks have something due": lambda s, of: s.webhooks.deliveries.next_due(
        of.webhook_ids[:20]
    ),
    "accounts that are hardly late": lambda s, of: s.webhooks.queue.fresh(now(), 25),
    "accounts with deliveries": lambda s, of: s.webhooks.queue.next(now(), 25),
    "accounts in the queue": lambda s, of: s.webhooks.queue.times(one.bytes for one in ACCOUNTS),
    "a webhook added to the queue": lambda s, of: s.webhooks.queue.add(
        [DueWebhook(ACCOUNT, of.webhook_ids[0], now())]
    ),
    "webhooks missing in the queue": lambda s, of: QueueRepair(
        s.stores.mongodb, s.webhooks.queue
    ).repair(now()),
    "claimed deliveries": lambda s, of: s.webhooks.deliveries.claim(
        dict.fromkeys(of.webhook_ids[:20], 2), now()
    ),
    "cancelled deliveries": lambda s, of: s.webhooks.deliveries.cancel(of.webhook_ids[:2], now()),
    "deliveries that wait for another": lambda s, of: postpone_later_ones(
        s.stores.mongodb.database,
        [{"_id": new_id(), "webhook_id": of.webhook_ids[0], "event_id": 1, "revision": 1}],
    ),
    "a delivery by id": lambda s, of: s.webhooks.deliveries.find(new_id()),
    "a delivery to be retried": lambda s, of: s.webhooks.deliveries.retry(new_id(), now()),
    "failed deliveries to be retried": lambda s, of: s.webhooks.deliveries.retry_since(
        of.webhook_ids[0], ACCOUNT, now(), now()
    ),
    "the backlog of deliveries": lambda s, of: s.webhooks.deliveries.backlog(now()),
    "webhooks of accounts": lambda s, of: make_deliveries(of.services),
    "webhooks by id": lambda s, of: s.webhooks.webhooks.find_all(of.webhook_ids[:5]),
    "an event id": lambda s, of: s.conversions.event_ids.next(),
}

DUE = ("when webhooks have something due", "webhooks missing in the queue")


async def sent(scene: Scene, query: Query) -> list[dict[str, Any]]:
    """Return the commands of `query` for which MongoDB makes a plan."""
    async with profiled(scene.services.stores.mongodb.database) as rows:
        await query(scene.services, scene)
    return [command(row) for row in rows if row["op"] in ("query", "command", "update", "remove")]


def command(row: dict[str, Any]) -> dict[str, Any]:
    """Return the command that a row of the profiler describes."""
    collection = row["ns"].partition(".")[2]
    if row["op"] == "update":
        return {"update": collection, "updates": [row["command"]]}
    if row["op"] == "remove":
        return {"delete": collection, "deletes": [row["command"]]}
    of_the_session = ("lsid", "txnNumber", "writeConcern", "readConcern", "maxTimeMS")
    return {
        name: value
        for name, value in row["command"].items()
        if name not in of_the_session and not name.startswith("$")
    }


def stages(plan: Any) -> Iterator[str]:
    """Yield the stages and index names of all winning plans in an answer of `explain`."""
    if isinstance(plan, list):
        for one in plan:
            yield from stages(one)
    elif isinstance(plan, dict):
        for name, value in plan.items():
            if name in ("stage", "indexName"):
                yield value
            elif name not in ("rejectedPlans", "serverInfo", "command"):
                yield from stages(value)


async def explained(scene: Scene, query: Query) -> list[set[str]]:
    """Return the stages and index names of each command of `query`."""
    database, plans = scene.services.stores.mongodb.database, []
    for one in await sent(scene, query):
        if next(iter(one)) in ("find", "aggregate", "update", "delete", "findAndModify"):
            plan = await database.command(
                "explain", one, verbosity="queryPlanner", codec_options=database.codec_options
            )
            plans.append(set(stages(plan)))
    return plans


async def test_lists_are_read_in_their_order_from_an_index_and_counted_from_one(
    services: Services,
) -> None:
    scene = await set_the_scene(services)
    for name, query in LISTS.items():
        plans = await explained(scene, query)
        # A page and the number of all rows are one query; that of deliveries is another. Links have
        # kept counts besides, and nothing of nothing is read.
        more = (1, 2) if "link" in name else (0, 0)
        assert len(plans) - 1 - ("deliveries" in name) in more, name
        for plan in plans:
            assert plan & {"IXSCAN", "COUNT_SCAN"}, (name, plan)
            # Through "_id_" the newest come first too, but those of every account.
            # Links of one slug are as few as domains. Those of words are sorted if they are few.
            sorts = set() if name.startswith(SORTED) else {"SORT"}
            assert not plan & {"COLLSCAN", "_id_", *sorts}, (name, plan)


async def test_feeds_are_read_in_their_order_from_one_index(services: Services) -> None:
    scene = await set_the_scene(services)
    for index, queries in FEEDS.items():
        for name, query in queries.items():
            plans = [one for one in await explained(scene, query) if index in one]
            assert plans, name
            for plan in plans:
                assert plan & {"IXSCAN", "COUNT_SCAN"}, (name, plan)
                assert not plan & {"COLLSCAN", "SORT", "OR", "_id_"}, (name, plan)


async def test_no_look_up_or_change_reads_a_whole_collection(
    services: Services,
) -> None:
    scene = await set_the_scene(services)
    for name, query in OTHERS.items():
        plans = await explained(scene, query)
        assert plans, name
        for plan in plans:
            assert plan & {"IXSCAN", "IDHACK", "COUNT_SCAN", "DISTINCT_SCAN"}, (name, plan)
            assert "COLLSCAN" not in plan, (name, plan)
        if name in DUE:  # and not every delivery is read
            assert plans[0] >= {"DISTINCT_SCAN", "by_webhook_and_time"}, name
