"""Drawn queries, and the check of their answers."""

from random import Random
from typing import Any, get_args

from tests.reports.counted import Counted
from tests.reports.history import DECIDED, DOMAINS, FOREIGN, HOME, VALUES, History, days
from tests.reports.history import SOURCES as OF_SOURCES
from tracker.clicks.sources import SOURCES
from tracker.ids import new_id
from tracker.reports.dimensions import FILTER_NAMES, FILTERS, SEARCHED
from tracker.reports.query import Bots, GroupBy, ReportQuery
from tracker.service.services import Services

OWN = ("parameter_0", "parameter_2")
GROUPS = (*get_args(GroupBy), *OWN)

HOST = "tracker.test"


def drawn(random: Random, history: History, group_by: GroupBy) -> ReportQuery:
    first, last = sorted(random.choices(list(days()), k=2))
    names = random.sample([*FILTER_NAMES, *OWN], random.choice([0, 0, 1, 1, 2, 3]))
    refused = random.sample([*FILTER_NAMES, *OWN], random.choice([0, 0, 0, 1, 1, 2]))
    return ReportQuery(
        account_id=history.account_id,
        first=first,
        last=last,
        group_by=group_by,
        filters={name: values(random, history, name) for name in names},
        excluded={name: values(random, history, name) for name in refused},
        containing=texts(random),
        not_containing=texts(random),
        all_tags=random.random() < 0.3,
        bots=random.choice(get_args(Bots)),
        tests=random.choice(["exclude", "exclude", "only"]),
        page=random.choice([1, 1, 2, 10**9]),
        page_size=random.choice([1, 2, 25, 100]),
    )


def texts(random: Random) -> dict[str, list[str]]:
    names = random.sample([*SEARCHED, *OWN], random.choice([0, 0, 0, 0, 1, 2]))
    known = ["EXAMPLE", "a", "k 2", "Link", "n", "un", "ÜNÏ", ".", "(", "&", "%", "=", "7"]
    return {name: random.sample(known, random.choice([1, 1, 2, 4])) for name in names}


def values(random: Random, history: History, name: str) -> list[Any]:
    tags = sorted({tag for tags in history.tags.values() for tag in tags})
    known: dict[str, list[Any]] = {
        "link": [*history.tags, history.foreign_link, new_id()],
        "tag": [*tags, new_id()],
        "event": [
            *sorted({one["event_config_id"] or "none" for one in history.events}, key=str),
            new_id(),
        ],
        **{
            one.name: [*filter(None, OF_SOURCES[one.field]), one.absent, "unknown"]
            for one in SOURCES
        },
        **{name: [*one.choices] for name, one in FILTERS.items() if one.choices},
        "parameter_0": ["a", "b=c", "none", "unknown", "other"],
        "parameter_2": ["7", "none", "unknown"],
        "rule": [*(one for one in DECIDED["rule_id"] if one), "none", "unknown"],
        "variant": [*(one for one in DECIDED["variant_id"] if one), "none", "unknown"],
        "parent_link": [*(one for one in DECIDED["parent_link_id"] if one), "none", "unknown"],
        "currency": [HOME, *FOREIGN, "GBP"],
        "domain": [*(name for name in DOMAINS if name), "unknown", "other.example"],
        **{name: [*values, "$device", "a.b", ""] for name, values in VALUES.items()},
    }
    return random.sample(known[name], min(random.choice([1, 1, 2, 4]), len(known[name])))


async def check(services: Services, counted: Counted, query: ReportQuery) -> None:
    report = await services.reports.reports.run(query)
    rows = counted.rows(query)
    start = (query.page - 1) * query.page_size
    found = [(row.key, row.measures) for row in report.rows]
    assert found == rows[start : start + query.page_size], query
    assert report.total_rows == len(rows), query
    assert report.totals == counted.totals(query), query
