"""Generated rules, splits and visits, in which most conditions hold now and then."""

from uuid import UUID, uuid5

from hypothesis import strategies as st

from tests.factories import CHROME, make_visit
from tracker.clicks.visit import ClientHeaders, Visit
from tracker.links.rules.rule import (
    MAX_CONDITIONS,
    MAX_VARIANTS,
    MIN_VARIANTS,
    Condition,
    Deciding,
    QueryMatch,
    Rule,
    Split,
    TimeMatch,
    Variant,
)

IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
)
AGENTS = (CHROME, IPHONE, "Googlebot/2.1 (+http://www.google.com/bot.html)", "", "caf\xe9")
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC")
AT_MS = 1_774_900_000_000
"""The night of 2026-03-29 in Berlin, when its clocks skip an hour, is within a week of it."""

_NAMESPACE = UUID(int=1)

_keys = st.sampled_from(["src", "a b", "ü", "SRC", "s"])
_values = st.sampled_from(["mail", "Mail", "a b", "a+b", "ü", "%", "", "1"])
_raw_keys = st.sampled_from(["src", "%73rc", "a+b", "a%20b", "%C3%BC", "\xc3\xbc", "s", "", "%"])
_raw_values = st.sampled_from(["mail", "m%61il", "a+b", "a%2Bb", "%C3%BC", "%FF", "\xff", "", "="])
_pairs = st.builds(
    lambda key, joint, value: key + joint + value, _raw_keys, st.just("="), _raw_values
)
queries = st.lists(_pairs | _raw_keys, max_size=4).map("&".join)

_tags = st.sampled_from(["en", "en-GB", "es", "de-AT", "zh-Hant", "ES-ar"])
_qualities = st.sampled_from(
    ["", ";q=1", ";q=0.95", "; q=0.9", ";q=0.89", ";q=0.5", ";q=0", ";q=x"]
)
_languages = st.lists(
    st.builds("".join, st.tuples(_tags | st.sampled_from(["*", "en-US", "es-AR", ""]), _qualities)),
    max_size=4,
).map(", ".join)

_hosts = st.sampled_from(["example.com", "news.example.com", "com", "badexample.com"])
_referrers = st.one_of(
    st.sampled_from(["", "nonsense", "https://EXAMPLE.com.:8080/x", "android-app://com.example/"]),
    _hosts.map("https://www.{}/page?q=1".format),
    _hosts.map("http://{}".format),
)

ADDRESSES = ("8.8.8.8", "8.8.9.1", "::ffff:8.8.8.8", "2001:db8::1", "2001:db8:0:1::2%eth0", "x")
_networks = st.sampled_from(
    ["8.8.8.8/32", "8.8.8.0/24", "8.0.0.0/8", "0.0.0.0/0", "2001:db8::/64", "::/0", "10.0.0.0/8"]
)


def _some(values: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(values, min_size=1, max_size=3)


_minutes = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))
_local_times = st.builds("2026-03-{:02}T{}".format, st.integers(25, 31), _minutes)
_bounds = st.one_of(
    st.just((None, None)),
    st.tuples(_minutes, _minutes),
    st.tuples(_local_times, st.none()),
    st.tuples(st.none(), _local_times),
    st.tuples(_local_times, _local_times).map(lambda both: tuple(sorted(both))),
)
_times = st.builds(
    lambda zone, weekdays, hours, bounds: TimeMatch(
        zone=zone, weekdays=weekdays, hours=hours, from_=bounds[0], to=bounds[1]
    ),
    st.sampled_from(ZONES),
    st.lists(st.integers(1, 7), max_size=5),
    st.lists(st.integers(0, 23), max_size=12),
    _bounds,
)
_wanted = st.one_of(
    st.tuples(st.just("country"), _some(st.sampled_from(["DE", "US", "AT"]))),
    st.tuples(st.just("device"), _some(st.sampled_from(["desktop", "mobile", "bot"]))),
    st.tuples(st.just("os"), _some(st.sampled_from(["iOS", "Windows"]))),
    st.tuples(st.just("browser"), _some(st.sampled_from(["Chrome", "Safari", "Other"]))),
    st.tuples(st.just("language"), _some(_tags)),
    st.tuples(st.just("referrer"), _some(_hosts)),
    st.tuples(st.just("ip"), _some(_networks)),
    st.tuples(
        st.just("query"), st.builds(QueryMatch, key=_keys, values=st.none() | _some(_values))
    ),
    st.tuples(st.just("time"), _times),
)
conditions = st.builds(
    lambda wanted, is_not: Condition(**{wanted[0]: wanted[1], "not_": is_not}),
    _wanted,
    st.booleans(),
)


def _split(weights: list[tuple[int, bool]], number: int) -> Split:
    variants = [
        Variant(
            id=uuid5(_NAMESPACE, f"variant {number} {at}"),
            name=f"{at}",
            destination_url=f"https://example.com/split/{number}/{at}",
            weight=weight,
            active=active,
        )
        for at, (weight, active) in enumerate(weights)
    ]
    return Split(variants=variants, secret=f"{number:032x}")


_weights = st.lists(
    st.tuples(st.sampled_from([0, 1, 300, 700]), st.booleans()),
    min_size=MIN_VARIANTS,
    max_size=MAX_VARIANTS,
)


def _rule(number: int, own: list[Condition], weights: list[tuple[int, bool]] | None) -> Rule:
    return Rule(
        id=uuid5(_NAMESPACE, f"rule {number}"),
        name=f"{number}",
        conditions=own,
        destination_url=f"https://example.com/{number}" if weights is None else None,
        split=None if weights is None else _split(weights, number + 1),
    )


_rules = st.lists(
    st.tuples(st.lists(conditions, min_size=1, max_size=MAX_CONDITIONS), st.none() | _weights),
    max_size=5,
)
decidings = st.builds(
    lambda rules, weights: Deciding(
        rules=[_rule(number, *one) for number, one in enumerate(rules)],
        split=None if weights is None else _split(weights, 0),
    ),
    _rules,
    st.none() | _weights,
)
moments = st.integers(AT_MS - 7 * 86_400_000, AT_MS + 7 * 86_400_000)


def _visit(
    address: str, agent: str, referrer: str, purpose: str, country: str, languages: str, query: str
) -> Visit:
    headers = ClientHeaders.from_headers(agent, referrer, purpose, country, languages=languages)
    return make_visit(address=address, headers=headers, query=query)


visits = st.builds(
    _visit,
    st.sampled_from(ADDRESSES),
    st.sampled_from(AGENTS),
    _referrers,
    st.sampled_from(["", "", "", "prefetch"]),
    st.sampled_from(["DE", "us", "XX", ""]),
    _languages,
    queries,
)
