"""The four visitor dimensions of a click, as one table. Pure.

The table's order is the order of fields in documents, and of values in rollups.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args
from unicodedata import normalize

UNKNOWN: Final = "unknown"
"""The value of a dimension without data."""


class Agent(NamedTuple):
    """A parsed user agent. `browser` and `os` are family names, `Other` or `unknown`."""

    device: str
    browser: str
    os: str


class Dimension(NamedTuple):
    """A property of visits that reports group and filter by.

    - `name`: the field of documents, the dimension of reports, and the macro `{name}`.
    - `title`: begins the description of the macro in webhook templates.
    - `macro`: the description of the macro in destinations.
    - `sample`: the value in the sample event.
    """

    name: str
    title: str
    macro: str
    sample: str


DIMENSIONS: Final = (
    Dimension("country", "country", "visitor's country, ISO 3166-1 alpha-2", "DE"),
    Dimension("device", "device", "visitor's class of device", "desktop"),
    Dimension("browser", "browser", "visitor's browser family", "Chrome"),
    Dimension("os", "operating system", "visitor's operating system family", "Windows"),
)

NAMES: Final = tuple(dimension.name for dimension in DIMENSIONS)

Device = Literal["desktop", "mobile", "tablet", "tv", "bot", "unknown"]
DEVICES: Final[tuple[str, ...]] = get_args(Device)

# Names in reports, and their families in ua-parser.
BROWSERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Amazon Silk": ("Amazon Silk",),
    "Android Browser": ("Android",),
    "Android WebView": ("Chrome Mobile WebView",),
    "Baidu": ("Baidu Browser", "Baidu Explorer", "Baidu Box App"),
    "Brave": ("Brave",),
    "Chrome": ("Chrome", "Chrome Mobile", "Chrome Mobile iOS", "Chromium"),
    "Coc Coc": ("Coc Coc",),
    "DuckDuckGo": ("DuckDuckGo", "DuckDuckGo Mobile"),
    "Ecosia": ("Ecosia Android", "Ecosia iOS"),
    "Edge": ("Edge", "Edge Mobile"),
    "Facebook": ("Facebook",),
    "Firefox": ("Firefox", "Firefox Beta", "Firefox Focus", "Firefox Mobile", "Firefox iOS"),
    "Google app": ("Google",),
    "HeyTap Browser": ("HeyTap Browser",),
    "Huawei Browser": ("Huawei Browser", "Honor Browser"),
    "Instagram": ("Instagram",),
    "Internet Explorer": ("IE", "IE Mobile", "IE Large Screen"),
    "KakaoTalk": ("KakaoTalk",),
    "LINE": ("LINE",),
    "LinkedIn": ("LinkedIn",),
    "Messenger": ("Facebook Messenger",),
    "Mi Browser": ("MiuiBrowser", "Mint Browser"),
    "Naver": ("NAVER",),
    "Oculus Browser": ("Oculus Browser",),
    "Opera": ("Opera", "Opera Coast", "Opera GX", "Opera Mobile", "Opera Neon", "Opera Touch"),
    "Opera Mini": ("Opera Mini",),
    "Pinterest": ("Pinterest",),
    "QQ Browser": ("QQ Browser", "QQ Browser Mini", "QQ Browser Mobile"),
    "Reddit": ("Reddit",),
    "Safari": ("Safari", "Mobile Safari"),
    "Samsung Internet": ("Samsung Internet",),
    "Snapchat": ("Snapchat",),
    "Telegram": ("Telegram",),
    "Threads": ("Threads",),
    "TikTok": ("TikTok",),
    "Twitter": ("Twitter",),
    "UC Browser": ("UC Browser",),
    "Vivaldi": ("Vivaldi",),
    "WeChat": ("WeChat Browser",),
    "Weibo": ("Weibo",),
    "Whale": ("Whale",),
    "Yandex Browser": ("Yandex Browser",),
    "iOS WebView": ("Mobile Safari UI/WKWebView",),
}

SYSTEMS: Final[Mapping[str, tuple[str, ...]]] = {
    "Android": ("Android", "Chromecast Android"),
    "BSD": ("FreeBSD", "NetBSD", "OpenBSD"),
    "BlackBerry": ("BlackBerry OS", "BlackBerry Tablet OS"),
    "Chrome OS": ("Chrome OS",),
    "Chromecast": ("Chromecast Fuchsia", "Chromecast Linux", "Chromecast SmartSpeaker"),
    "Firefox OS": ("Firefox OS",),
    "HarmonyOS": ("HarmonyOS",),
    "KaiOS": ("KaiOS",),
    "Kindle": ("Kindle",),
    "Linux": ("Linux", "CentOS", "Debian", "Fedora", "Gentoo", "Linux Mint", "Red Hat", "Ubuntu"),
    "Nintendo": ("Nintendo",),
    "PlayStation": ("PlayStation",),
    "Roku": ("Roku",),
    "Symbian": ("Symbian OS", "Symbian^3", "Symbian^3 Anna", "Symbian^3 Belle"),
    "Tizen": ("Tizen",),
    "Windows": ("Windows",),
    "Windows Phone": ("Windows Phone", "Windows Mobile"),
    "Xbox": ("Xbox",),
    "iOS": ("iOS",),
    "macOS": ("Mac OS X", "Mac OS"),
    "tvOS": ("tvOS", "ATV OS X"),
    "watchOS": ("WatchOS",),
    "webOS": ("webOS", "Web0S"),
}

COUNTRY_NAMES: Final = Path(__file__).with_name("country_names.tsv")
"""Codes and English names of countries, which tests/country_names.py has written."""


_OTHER_NAMES: Final = (
    "CD DR Congo,CG Congo Republic,CI Ivory Coast,CV Cabo Verde,CZ Czech Republic,PS Palestine,"
    "SZ Swaziland,TR Turkey"
)
"""Of countries, as other services write them."""


@cache
def _country_names() -> Mapping[str, str]:
    _, *rows = COUNTRY_NAMES.read_text("utf-8").splitlines()
    return dict(row.split("\t") for row in rows)


def country_name(code: str) -> str:
    return _country_names().get(code, code)


@cache
def _codes_by_name() -> Mapping[str, str]:
    others = (one.split(" ", 1) for one in _OTHER_NAMES.split(","))
    return {_plain(name): code for code, name in (*_country_names().items(), *others)}


def country_code(name: str) -> str:
    """Return the ISO code of a country by its English name; empty if it is not known."""
    return _codes_by_name().get(_plain(name), "")


def _plain(name: str) -> str:
    """Return a name without accents, brackets, articles, and what is written in two ways."""
    text = normalize("NFKD", name).lower()
    text = re.sub(r"\(.*?\)|\bsar china\b|\b(?:the|and|saint|st)\b", "", text)
    return re.sub(r"[^a-z]", "", text)


CACHED_VISITS: Final = 10_000
"""Combinations of country and agent."""


@lru_cache(maxsize=CACHED_VISITS)
def values_of(country: str, agent: Agent) -> Mapping[str, str]:
    """Return the value of each dimension by name. It is shared: do not change it."""
    return {"country": country, **agent._asdict()}


def values_in(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of a stored click or event, in the table's order, else UNKNOWN."""
    return tuple([document.get(name, UNKNOWN) for name in NAMES])
