"""A made-up history of an account, stored both ways: its clicks and events, and their rollups."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from bson import Decimal128

from tests.factories import (
    create_event_config,
    create_link,
    make_click_document,
    make_event_document,
)
from tracker.conversions.corrections.status import Status
from tracker.conversions.document import DIMENSIONS, Attribution
from tracker.ids import new_id
from tracker.reports.rollups.rollup import Calendars, Rollup
from tracker.service.services import Services
from tracker.visitor_dimensions import DIMENSIONS as VISITOR_DIMENSIONS

FIRST = date(2026, 1, 30)
DAYS = 4
DRAIN_NUMBERS = 3
DOMAINS = ("", "a.example", "a-b.example", "tracker.test")
VALUES = {
    **{one.name: (one.sample, "unknown") for one in VISITOR_DIMENSIONS},
    "country": ("DE", "FR", "TR", "unknown"),
    "device": ("desktop", "mobile", "tv", "unknown"),
    "browser": ("Chrome", "Google app", "Other", "unknown"),
    "os": ("iOS", "Windows", "unknown"),
}
SOURCES = {
    "referrer_host": ("news.example", "www.example.org", None),
    "utm_source": ("mail", "Ünïcode ☂", None, None),
    "utm_medium": ("cpc", None),
    "utm_campaign": ("spring", "summer", None),
    "utm_term": (None, "shoes"),
    "utm_content": (None, "a=b&c"),
}
OWN: dict[str, tuple[str | None, ...]] = {
    "parameter_0": ("sub1=a", "sub1=b=c", "old=a", "old=", None, None),
    "parameter_1": ("gone=a", None),
    "parameter_2": ("zone=7", "zone=unknown", None),
}
"""The sender's own parameters. The first position was that of another name, the second is again."""
DECIDED: dict[str, tuple[UUID | None, ...]] = {
    "rule_id": (UUID(int=1), UUID(int=2), None),
    "variant_id": (UUID(int=3), None),
    "parent_link_id": (UUID(int=4), None, UUID(int=5), None, None),
}
POSITIONS = [{"name": "sub1"}, {"name": "gone", "removed": True}, {"name": "zone"}]
HOME, FOREIGN = "EUR", ("USD", "JPY")
MONEY = ("0.000000001", "0.0000000005", "19.99", "-3", "1E+15", "12345678901234.123456789", "0")


COSTS: tuple[dict[str, Any], ...] = (
    {"cost": Decimal128("0.0525")},
    {"cost_unknown": True},
    {"cost": Decimal128("0")},
    {},
)
RESTATED = ("reported", "currency", "refunded_value")


class History(NamedTuple):
    """The records of two accounts, one of them `account_id`; `tags` are those of each link."""

    account_id: UUID
    clicks: list[dict[str, Any]]
    events: list[dict[str, Any]]
    tags: dict[UUID, list[UUID]]
    foreign_link: UUID


async def made(
    services: Services,
    random: Random,
    clicks: int = 300,
    events: int = 120,
    restated: bool = True,
) -> History:
    """Store a history. Without `restated` all conversions are approved, in its own currency."""
    account_id, other_id = new_id(), new_id()
    fields = {"currency": HOME, "parameters": POSITIONS, "decides": True, "has_parents": True}
    await services.stores.mongodb["accounts"].insert_one(
        {"_id": account_id, "name": "History", **fields}
    )
    tag_ids = [(await services.links.tags.create(account_id, name)).id for name in "abc"]
    links = [
        await create_link(
            services,
            account_id if number else other_id,
            f"s{number}",
            internal_name=f"Link {number}",
            domain_name=random.choice(DOMAINS),
            tags=random.sample(tag_ids, random.randrange(4)) if number else [],
        )
        for number in range(9)
    ]
    configs = [
        (await create_event_config(services, account_id, name=name)).id
        for name in ("Purchase", "Lead")
    ]
    some = [_click(random, random.choice(links)) for _ in range(clicks)]
    history = History(
        account_id,
        some,
        [
            _event(random, number, account_id, some, configs, restated)
            for number in range(1, events + 1)
        ],
        {link.id: link.tags for link in links},
        links[0].id,
    )
    await store(services, random, history.clicks, history.events)
    return history


async def more(services: Services, random: Random, history: History) -> History:
    """Store more clicks and events of the history's days, and return the longer history."""
    links = sorted({(one["account_id"], one["link_id"]) for one in history.clicks})
    of_link = {one["link_id"]: one for one in history.clicks}
    clicks = [
        _click_of(random, account_id, link_id, of_link[link_id]["domain_name"])
        for account_id, link_id in random.choices(links, k=random.randrange(6))
    ]
    configs = sorted({one["event_config_id"] for one in history.events} - {None})
    first = 1 + max(one["_id"] for one in history.events)
    events = [
        _event(random, number, history.account_id, history.clicks, configs)
        for number in range(first, first + random.randrange(4))
    ]
    await store(services, random, clicks, events)
    return history._replace(clicks=history.clicks + clicks, events=history.events + events)


async def moved(services: Services, random: Random, history: History) -> History:
    """Attribute pending events to clicks of the account, restate others, find parents of clicks.

    Return the new history.
    """
    pending = [
        one
        for one in history.events
        if one["status"] == Attribution.PENDING and one["account_id"] == history.account_id
    ]
    own = [one for one in history.clicks if one["account_id"] == history.account_id]
    events = {one["_id"]: one for one in history.events}
    rollup = Rollup()
    joined = random.sample(pending, min(2, len(pending)))
    clicks = {event["_id"]: random.choice(own) for event in joined}
    changed = {
        event_id: events[event_id] | _of_click(click) | {"status": _joined(click)}
        for event_id, click in clicks.items()
    }
    for event in random.sample(history.events, 4):
        plain = {name: one for name, one in event.items() if name not in RESTATED}
        changed.setdefault(event["_id"], plain | _restated(random))
    for event_id, after in changed.items():
        event = events[event_id]
        rollup.add_event(event, sign=-1)
        rollup.add_event(after)
        await services.stores.mongodb["events"].replace_one({"_id": event["_id"]}, after)
        events[event["_id"]] = after
    orphans = [one for one in own if "parent_link_id" not in one]
    found = {one["_id"]: {"parent_link_id": UUID(int=4)} for one in random.sample(orphans, 2)}
    for click in history.clicks:
        if click["_id"] in found:
            rollup.count_parent(click)
            update = {"$set": found[click["_id"]]}
            await services.stores.mongodb["clicks"].update_one({"_id": click["_id"]}, update)
    clicks_now = [one | found.get(one["_id"], {}) for one in history.clicks]
    await store_rollup(services, rollup, 0)
    return history._replace(clicks=clicks_now, events=list(events.values()))


async def store_rollup(services: Services, rollup: Rollup, drain_number: int) -> None:
    if updates := list(rollup.updates(drain_number)):
        await services.stores.mongodb.database.command(
            "update",
            "rollups",
            updates=updates,
            codec_options=services.stores.mongodb.database.codec_options,
        )


async def store(
    services: Services,
    random: Random,
    clicks: Sequence[dict[str, Any]],
    events: Sequence[dict[str, Any]],
    calendars: Calendars | None = None,
) -> None:
    """Store the documents, and their rollups in batches of several drain numbers."""
    for collection, documents in (("clicks", clicks), ("events", events)):
        if documents:
            await services.stores.mongodb[collection].insert_many(documents)
    rollups = [Rollup(calendars) for _ in range(2 * DRAIN_NUMBERS)]
    for click in clicks:
        random.choice(rollups).add_click(click)
    for event in events:
        random.choice(rollups).add_event(event)
    for number, rollup in enumerate(rollups):
        await store_rollup(services, rollup, number % DRAIN_NUMBERS)


def _moment(random: Random) -> datetime:
    """Return a random moment, often the first or last of a day."""
    day = datetime.combine(FIRST, datetime.min.time(), UTC) + timedelta(random.randrange(DAYS))
    return day + random.choice(
        [
            timedelta(0),
            timedelta(days=1, milliseconds=-1),
            timedelta(hours=random.choice((0, 9, 10)), minutes=random.randrange(60)),
        ]
    )


def _click(random: Random, link: Any) -> dict[str, Any]:
    return _click_of(random, link.account_id, link.id, link.domain_name)


def _click_of(random: Random, account_id: UUID, link_id: UUID, domain_name: str) -> dict[str, Any]:
    bot = random.choice([None, None, None, "crawler", "prefetch"])
    at = _moment(random)
    return (
        make_click_document(
            account_id=account_id,
            link_id=link_id,
            at=at,
            **COSTS[at.second % len(COSTS)],
            domain_name=domain_name,
            **{name: random.choice(values) for name, values in VALUES.items()},
            bot=bot,
            unique=bot is None and random.random() < 0.6,
            **({"test": True} if random.random() < 0.1 else {}),
        )
        | {
            name: value
            for name, values in SOURCES.items()
            if (value := random.choice(values)) is not None
        }
        | _own(at)
    )


def _own(at: datetime) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        name: values[at.minute // 3 % len(values)] for name, values in OWN.items()
    }
    drawn |= {name: values[at.minute % len(values)] for name, values in DECIDED.items()}
    return {name: value for name, value in drawn.items() if value is not None}


def _event(
    random: Random,
    number: int,
    account_id: UUID,
    clicks: Sequence[Any],
    configs: Sequence[UUID],
    restated: bool = True,
) -> dict[str, Any]:
    status = random.choice([*Attribution, Attribution.ATTRIBUTED, Attribution.ATTRIBUTED])
    click = random.choice(clicks)
    if status == Attribution.ATTRIBUTED:
        status = _joined(click)
    # A test names a click, or none.
    is_joined = status == Attribution.ATTRIBUTED or (
        status == Attribution.TEST and random.random() < 0.7
    )
    owner = click["account_id"] if is_joined else account_id
    of_nobody = status == Attribution.PENDING and random.random() < 0.3
    return make_event_document(
        number,
        at=_moment(random),
        account_id=None if of_nobody else owner,
        event_config_id=random.choice([*configs, None]) if owner == account_id else None,
        click_id=None if status == Attribution.NO_CLICK else click["_id"],
        value=_money(random),
        payout=_money(random),
        status=status,
        transaction_scope=None,
        **(_of_click(click) if is_joined else {}),
        **(_restated(random) if restated else {}),
    )


def _restated(random: Random) -> dict[str, Any]:
    """Return what only some events have; half of them have nothing."""
    drawn = {
        "reported": random.choice([None, *Status]),
        "currency": random.choice([None, None, *FOREIGN]),
        "refunded_value": random.choice([None, None, _money(random)]),
    }
    if random.random() < 0.5:
        return {}
    return {name: one for name, one in drawn.items() if one is not None}


def _joined(click: dict[str, Any]) -> Attribution:
    """Return the state of an event that is joined with a click."""
    return Attribution.TEST if "test" in click else Attribution.ATTRIBUTED


def _of_click(click: dict[str, Any]) -> dict[str, Any]:
    """Return what an event takes over from its click."""
    return {name: click[name] for name in (*DIMENSIONS, *SOURCES, *OWN, *DECIDED) if name in click}


def _money(random: Random) -> Decimal128 | None:
    return Decimal128(random.choice(MONEY)) if random.random() < 0.8 else None


def days() -> Iterator[date]:
    """Yield the days of the history, and one before and after it."""
    for number in range(-1, DAYS + 1):
        yield FIRST + timedelta(number)
