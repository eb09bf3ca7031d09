"""Random requests for the public paths, usual and malformed ones, determined by a Random.

With a Random of hypothesis every choice can be shrunk. Texts are Latin-1.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple

from tests.factories import CHROME
from tests.service.ways import WAY, Sent
from tests.syntax.accept_fields import IMAGES, NAVIGATIONS

LINKS = {
    "abc": "https://example.com/landing",
    "query": "https://example.com/?own=%2f&click_id=old#part",
    "fragment": "https://example.com/#/route?x=1",
    "macros": (
        "https://example.com/{slug}?k={click_id}&t={click_timestamp}&l={link_id}&a={account_id}"
        "&n={domain_name}&c={country}&d={device}&b={browser}&o={os}#{click_id}"
    ),
    "raw": "https://b\u00fccher.example/\u00e9?q=\u4e2d&r={unknown}&utm_source=\u4e2d&utm_term={country}",
    "ended": "https://example.com/ended",
}
"""Destinations by slug; `ended` is inactive."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "other": {"redirect_status": 307, "no_referrer": True, "click_parameter": "subid"},
    "alone": {"pass_query": False},
    "limited": {"max_clicks": 1_000_000},
    "over": {"expires_at": datetime(2026, 1, 1, tzinfo=UTC)},
    "moved": {"expires_at": datetime(2026, 1, 1, tzinfo=UTC), "expired_url": LINKS["abc"]},
    "early": {"starts_at": datetime(2099, 1, 1, tzinfo=UTC)},
    "locked": {"password_hash": "the hash of a password"},
}
"""Options of further links by slug."""

DOMAINS = ("go.example", "waiting.example", "xn--bcher-kva.example")
"""Custom domains, each with a link `abc`; `waiting.example` is not verified."""

_PATHS = (
    *("/abc", "/abc", "/abc", "/abc/", "/%61bc", "/ABC", "/none", "/abc,", "/abc&a=%2f", "/"),
    *("//abc", "/abc/x", "/robots.txt", "/api/none", "/.well-known/x", "/caf%C3%A9", "/%FF"),
    "/\xe9",
)
"""Paths of custom domains."""

_SLUGS = (*LINKS, *LINKS, *OPTIONS, "abc", "abc", "macros", "none")
_SLUG_SPELLINGS = ("%61bc", "abc/", "", "/abc", "ABC", "a" * 65, "abc%00", "abc;x", "a\xe9", "..")
_OTHER_PATHS = ("/", "/c", "/healthz", "/api/click/", "/api/none", "/C/abc", "//c/abc")
_PAIRS = (
    *("a=1", "utm_source=news", "b=", "=c", "", "a=2", "a", "gclid=Cj0K-_x", "S=1", "ss=4", "&"),
    *("a=%2f+%20%7E~", "q=\xc3\xa9", "r=\xff", "x=%zz", "y=%", "u=https://x.test/?y=1?z"),
    *("t=a;b,c'\"<>{}|", "click_id=7", "click%5Fid=7", "click_id", "%63lick_id=8", "Click_id=9"),
    *("s=abc", "s=none", "%73=abc", "%73=x", "s", "%64=tracker.test", "c=click_id=1", "z=#1"),
)
_DOMAIN_PAIRS = (
    *("d=", "d=tracker.test", "d=TRACKER.test.", "%64=go.example", "d=go.example", "d=GO.Example."),
    *("d=b%C3%BCcher.example", "d=b\xc3\xbccher.example", "d=none.example", "d=a+b", "d=%FF"),
    "d=waiting.example",
)
_HOSTS = (
    *("tracker.test",) * 8,
    *DOMAINS,
    *(
        "GO.Example.",
        "go.example:8080",
        "tracker.test:8080",
        "none.example",
        "127.0.0.1",
        "[::1]:1",
    ),
)
_AGENTS = (
    CHROME,
    "Googlebot/2.1 (+http://www.google.com/bot.html)",
    "curl/8.5.0",
    "Caf\xe9/1 \xe4\xb8\xad\xff",
    "",
    "u" * 1100,
)
_ACCEPTS = (
    *NAVIGATIONS.values(),
    *IMAGES.values(),
    *("*/*", "application/json", "", "text/html;q=0.1, application/json", "image/gif"),
)
_FIELDS = {
    "User-Agent": _AGENTS,
    "Accept": _ACCEPTS,
    "Accept-Language": ("en-US,en;q=0.9", "de"),
    "Accept-Encoding": ("gzip, deflate, br",),
    "Referer": ("https://search.test/?q=x", "https://x.test/\xe9", "", "r" * 2100),
    "X-Forwarded-For": (
        "9.9.9.9",
        "6.6.6.6, 9.9.9.9",
        "nonsense",
        "::ffff:8.8.8.8",
        "[::1]:80",
        "",
    ),
    "X-Request-Id": ("abc-1", "a.b:c_9", "x" * 128, "x" * 129, "a b", "", "caf\xe9", "<script>"),
    "CF-IPCountry": ("NZ", "nz", "XX", "T1", ""),
    "Sec-Purpose": ("prefetch", "prefetch;prerender"),
    "Purpose": ("prefetch",),
    "X-Purpose": ("preview",),
    "X-Moz": ("prefetch",),
    "Cookie": ("a=b; c=d", "", f"pass-{'0' * 32}=1.2; \xe9"),
    "Origin": (
        *("https://shop.example", "http://localhost:8080", "null", "http://[::1]:1", ""),
        *("*", "https://a.example, https://b.example", "https://a.example/%s", "x" * 300),
    ),
    "Connection": (*("keep-alive",) * 6, "Keep-Alive", "close", "upgrade", "keep-alive, x"),
    "Upgrade-Insecure-Requests": ("1",),
    "Webhook-Id": ("", "msg_1", ""),
    "X-Empty": ("",),
}
_RARE_FIELDS = (
    *("Upgrade: websocket", "Expect: 100-continue", "TE: trailers", "Keep-Alive: timeout=5"),
    *("Content-Length: 0", "X-Folded: a\r\n b", "X-Control: a\x01b", "Bad Name: a", ": a", "X-No"),
    *("X Y: a", "X-Blank : a", "Host: tracker.test", "Content-Length: x", "X-Tab: \ta\t"),
)
_VALUES = ("12.50", "0", "-1", "1e3", "1e999", "NaN", "12,5", "", "%2B5")
_METADATA = (
    *("%7B%22plan%22%3A%22caf%C3%A9%22%7D", '{"a":[1,2,{"b":null}]}', "%5B1%5D", "%7B", "{}"),
    '{"a":"' + "x" * 3000 + '"}',
)


class Known(NamedTuple):
    """Ids as text; some of `pbks` and `click_ids` are unknown."""

    pbks: tuple[str, ...]
    click_ids: tuple[str, ...]


def visit(random: Random, known: Known) -> Sent:
    """Return a request, usually one that the fast path takes."""
    method = _chosen(random, 20, "GET", "HEAD", "OPTIONS", "POST", "get")
    if random.random() < 0.2:
        method = "HEAD"
    target = _target(random, known)
    version = _chosen(random, 40, "1.1", "1.0", "2.0", "1.2")
    fields = _fields(random)
    body = ""
    if random.random() < 0.04:
        fields.append(random.choice(("Content-Length: 5", "Transfer-Encoding: chunked")))
        body = "5\r\nhello\r\n0\r\n\r\n" if fields[-1].endswith("chunked") else "hello"
    head = "".join(f"{line}\r\n" for line in (f"{method} {target} HTTP/{version}", *fields))
    return Sent(method, f"{head}\r\n{body}".encode("latin-1"))


def _chosen(random: Random, odds: int, usual: str, *others: str) -> str:
    """Return `usual`, or with a chance of one in `odds` another choice."""
    return random.choice(others) if random.randrange(odds) == 0 else usual


def _target(random: Random, known: Known) -> str:
    kind = random.randrange(100)
    if kind < 50:
        path = "/c/" + _chosen(random, 10, random.choice(_SLUGS), *_SLUG_SPELLINGS)
        pairs = _pairs(random)
    elif kind < 70:
        path, pairs = "/api/click", _pairs(random)
        pairs.insert(random.randint(0, len(pairs)), "s=" + random.choice(_SLUGS))
    elif kind < 93:
        path, pairs = "/api/event", _conversion(random, known)
    elif kind < 96:
        path, pairs = random.choice(_OTHER_PATHS), _pairs(random)
    else:
        path, pairs = random.choice(_PATHS), _pairs(random)
    query = "?" + "&".join(pairs) if pairs or random.random() < 0.1 else ""
    origin = _chosen(random, 40, "", "http://tracker.test", "HTTP://go.example:80", "x:", "*")
    return origin + path + query


def _pairs(random: Random) -> list[str]:
    pairs = [random.choice(_PAIRS) for _ in range(random.choice((0, 0, 1, 2, 3, 6)))]
    if random.random() < 0.1:
        pairs.insert(random.randint(0, len(pairs)), random.choice(_DOMAIN_PAIRS))
    return pairs


def _conversion(random: Random, known: Known) -> list[str]:
    pairs = []
    if random.random() < 0.7:
        pairs.append("pbk=" + random.choice(known.pbks))
    if random.random() < 0.5:
        pairs.append("click_id=" + random.choice(known.click_ids))
    if random.random() < 0.4:
        pairs.append("value=" + random.choice(_VALUES))
    if random.random() < 0.2:
        pairs.append("metadata=" + random.choice(_METADATA))
    if random.random() < 0.2:
        name = random.choice(("txid", "transaction_id"))
        pairs.append(f"{name}={WAY}-{random.randrange(30)}")
    if random.random() < 0.3:
        pairs.append(random.choice(_PAIRS))
    if random.random() < 0.3:
        pairs += _others(random, known)
    random.shuffle(pairs)
    return pairs


def _others(random: Random, known: Known) -> list[str]:
    """Return parameters with names of networks, for which a configuration may have aliases."""
    named = {
        "cid": random.choice(known.click_ids),
        "Click_ID": random.choice(known.click_ids),
        "payout": random.choice(_VALUES),
        "tid": f"{WAY}-{random.randrange(30)}",
        "tid2": "{tid}",
    }
    chosen = random.sample(list(named), random.randint(1, 3))
    return [f"{name}={named[name]}" for name in chosen]


def _fields(random: Random) -> list[str]:
    names = [name for name in _FIELDS if random.random() < 0.25]
    if random.random() < 0.05:
        names.append(random.choice(list(_FIELDS)))
    fields = [_field(random, name, random.choice(_FIELDS[name])) for name in names]
    if random.random() < 0.98:
        fields.append(_field(random, "Host", random.choice(_HOSTS)))
    if random.random() < 0.07:
        fields.append(random.choice(_RARE_FIELDS))
    random.shuffle(fields)
    return fields


def _field(random: Random, name: str, value: str) -> str:
    spelled = random.choice((name, name, name.lower(), name.upper(), name.swapcase()))
    before = _chosen(random, 10, " ", "", "  ", "\t")
    after = _chosen(random, 15, "", " ", "\t ")
    return f"{spelled}:{before}{value}{after}"
