"""Reports counted one by one in Python, which every pipeline must equal."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Context, Decimal, localcontext
from typing import Any, get_args

from tests.reports.history import HOME, History
from tracker.clicks.document import OWN_PARAMETERS
from tracker.clicks.sources import SOURCES
from tracker.reports.query import CurrencyMeasures, GroupBy, Measures, ReportQuery

Document = dict[str, Any]
Keys = dict[str, list[str]]

WIDE = Context(prec=80)
NOT_COUNTED = {"claimed", "duplicate", "refused"}
NO_KEYS = ("unknown", "none")
NO_TEXT = (*NO_KEYS, "direct", "others")
FIGURES = set(Measures.__struct_fields__) - {"other_currencies"}


class Counted:
    """The reference for reports. `host` is the name of the default domain."""

    def __init__(self, history: History, host: str) -> None:
        events = [one for one in history.events if one["status"] not in NOT_COUNTED]
        self._clicks = [(one, keys_of(history, host, one)) for one in history.clicks]
        self._events = [(one, keys_of(history, host, one)) for one in events]

    def totals(self, query: ReportQuery) -> Measures:
        clicks = [one for one, keys in self._clicks if passes(query, one, keys)]
        return measures(query, clicks, [e for e, keys in self._events if passes(query, e, keys)])

    def rows(self, query: ReportQuery) -> list[tuple[str, Measures]]:
        """Return the rows of all pages, in their order."""
        by_key: dict[str, tuple[list[Document], list[Document]]] = {}
        for kind, ones in enumerate((self._clicks, self._events)):
            for one, keys in ones:
                for key in keys[query.group_by] if passes(query, one, keys) else ():
                    by_key.setdefault(key, ([], []))[kind].append(one)
        found = [(key, measures(query, *ones)) for key, ones in by_key.items()]
        shown = [(key, of) for key, of in found if any(getattr(of, name) for name in FIGURES)]
        # Last comes what has no link or configuration.
        return sorted(shown, key=lambda row: (-row[1].clicks, row[0] in NO_KEYS, row[0]))


def passes(query: ReportQuery, one: Document, keys: Keys) -> bool:
    return (
        one["account_id"] == query.account_id
        and is_test(one) == (query.tests == "only")
        and query.first <= one["at"].date() <= query.last
        and (query.until is None or one["at"] < query.until)
        and all(key in keys[name] for name, key in zip(query.levels, query.parents, strict=False))
        and all(
            matches(set(keys[name]), set(map(str, values)), name == "tag" and query.all_tags)
            for name, values in query.filters.items()
        )
        and not any(
            matches(set(keys[name]), set(map(str, values)), every=False)
            for name, values in query.excluded.items()
        )
        and all(has_any(keys, name, texts) for name, texts in query.containing.items())
        and not any(has_any(keys, name, texts) for name, texts in query.not_containing.items())
    )


def has_any(keys: Keys, name: str, texts: Sequence[str]) -> bool:
    found = keys["name of link" if name == "link" else name]
    named = [one.casefold() for one in found if one not in NO_TEXT]
    return any(text.casefold() in one for text in texts for one in named)


def is_test(one: Document) -> bool:
    return "test" in one or one.get("status") == "test"


def matches(found: set[str], wanted: set[str], every: bool) -> bool:
    return wanted <= found if every else bool(wanted & found)


def keys_of(history: History, host: str, one: Document) -> Keys:
    """Return the rows that a click or an event belongs to, by dimension."""
    link_id = one.get("link_id")
    keys = {name: [one.get(name, "unknown")] for name in get_args(GroupBy)}
    is_event, day = "status" in one, one["at"].date()
    absent = "unknown" if is_event and link_id is None else None
    keys |= {
        **{one_of.name: [one.get(one_of.field) or absent or one_of.absent] for one_of in SOURCES},
        **{name: [own_value(one.get(name, ""), absent or "none")] for name in OWN_PARAMETERS},
        "rule": [one.get("rule_id") or absent or "none"],
        "variant": [one.get("variant_id") or absent or "none"],
        "parent_link": [one.get("parent_link_id") or absent or "none"],
        "bot": [one.get("bot") or absent or "none"],
        "week": [day - timedelta(days=day.weekday())],
        "month": [f"{day:%Y-%m}"],
        "weekday": [day.isoweekday()],
        "hour_of_day": [f"{one['at']:%H}"],
        "hour_of_week": [f"{day.isoweekday()}T{one['at']:%H}"],
        "link": [link_id or "unknown"],
        "name of link": [] if link_id is None else [f"Link {[*history.tags].index(link_id)}"],
        "tag": [] if link_id is None else history.tags[link_id],
        "day": [f"{one['at']:%Y-%m-%d}"],
        "hour": [f"{one['at']:%Y-%m-%dT%H:00Z}"],
        "domain": [one.get("domain_name", "unknown") or host],
        "event": [one["event_config_id"] or "none"] if "status" in one else [],
        "currency": [one.get("currency", HOME)] if "status" in one else [],
    }
    return {name: list(map(str, values)) for name, values in keys.items()}


def own_value(stored: str, absent: str) -> str:
    """Return the value of a parameter that still has its name."""
    name, _, value = stored.partition("=")
    return value if name in ("sub1", "zone") else absent


def measures(
    query: ReportQuery, clicks: Sequence[Document], events: Sequence[Document]
) -> Measures:
    bots = [one for one in clicks if one["bot"]]
    people = [one for one in clicks if not one["bot"]]
    if query.bots == "only":
        events = [one for one in events if one.get("bot")]
    home = [one for one in events if "currency" not in one]
    paid = bots if query.bots == "only" else clicks
    costed = [one for one in paid if "cost" in one]
    pending = [one for one in events if one.get("reported") == "pending"]
    rejected = [one for one in events if one.get("reported") == "rejected"]
    approved = [one for one in events if one.get("reported", "approved") == "approved"]
    attributed = [one for one in approved if "link_id" in one]
    if query.bots == "exclude":
        attributed = [one for one in attributed if not one["bot"]]
    return Measures(
        clicks=len({"exclude": people, "include": clicks, "only": bots}[query.bots]),
        unique_clicks=0 if query.bots == "only" else sum(one["unique"] for one in people),
        bot_clicks=len(bots),
        conversions=len(approved),
        attributed=len(attributed),
        value=value([one for one in approved if one in home]),
        payout=total([one for one in approved if one in home], "payout"),
        pending_conversions=len(pending),
        pending_value=total([one for one in pending if one in home], "value"),
        rejected_conversions=len(rejected),
        refunded_value=refunded(home),
        other_currencies=others(approved),
        cost=total(costed, "cost") if costed else None,
        unknown_cost_clicks=sum("cost_unknown" in one for one in paid),
        has_other_payout=bool(total([one for one in approved if one not in home], "payout")),
    )


def others(approved: Sequence[Document]) -> tuple[CurrencyMeasures, ...]:
    found: dict[str, list[Document]] = {}
    for one in approved:
        if "currency" in one:
            found.setdefault(one["currency"], []).append(one)
    return tuple(
        CurrencyMeasures(currency, len(ones), value(ones), total(ones, "payout"))
        for currency, ones in sorted(found.items())
    )


def value(approved: Sequence[Document]) -> Decimal:
    with localcontext(WIDE):
        return total(approved, "value") - total(approved, "refunded_value")


def refunded(home: Sequence[Document]) -> Decimal:
    """Return what was refunded in part, or whole: then the value, unless an amount is known."""
    kinds: dict[str, list[Document]] = {"approved": [], "refunded": [], "value": []}
    for one in home:
        kind = one.get("reported", "approved")
        known = one.get("refunded_value") is not None
        if kind in kinds:
            kinds[kind if kind == "approved" or known else "value"].append(one)
    with localcontext(WIDE):
        parts = [total(kinds[kind], "refunded_value") for kind in ("approved", "refunded")]
        return sum(parts, total(kinds["value"], "value"))


def total(events: Sequence[Document], name: str) -> Decimal:
    """Return the sum of the rounded amounts."""
    with localcontext(WIDE):
        amounts = [one[name].to_decimal() for one in events if one.get(name) is not None]
        return sum((one.quantize(Decimal("1e-9")) for one in amounts), Decimal(0))
