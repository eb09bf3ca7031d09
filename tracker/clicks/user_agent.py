"""Device, browser and operating system of a user agent, from closed lists. Pure.

Called for each click's document, and for macros in destinations. The lists limit the rows of
reports, whatever visitors send. A family outside the list is `Other`, a missing value `unknown`.

A game console on a television is a tv, a portable one a mobile. A browser inside an app has the
app's name if the agent has it, else it is a WebView. An iPad that requests desktop pages looks like
a Mac.

The parser is built at the first use, and takes 9 MB.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from tracker.clicks.bots import (
    CACHED_USER_AGENTS,
    MAX_USER_AGENT_CHARACTERS,
    bot_reason,
    replace_surrogates,
)
from tracker.visitor_dimensions import BROWSERS, SYSTEMS, Agent

if TYPE_CHECKING:
    from ua_parser import OS, PartialResult, UserAgent

# Names in the agent that ua-parser does not know, or only in other spellings.
_APPS: Final = {
    "Barcelona ": "Threads",
    "KAKAOTALK": "KakaoTalk",
    "MetaIAB Facebook": "Facebook",
    "MicroMessenger": "WeChat",
    "NAVER(inapp": "Naver",
    "Orca-Android": "Messenger",
    "Reddit/Version": "Reddit",
    "[LinkedInApp]": "LinkedIn",
}
_PLATFORMS: Final = {
    "FBAN/EMA": "Android",
    "FBAN/FB4A": "Android",
    "HarmonyOS": "HarmonyOS",
    "Nintendo": "Nintendo",
    "OpenHarmony": "HarmonyOS",
    "PLAYSTATION": "PlayStation",
    "PlayStation": "PlayStation",
    "Xbox": "Xbox",
}

# The first match decides. Android without the word Mobile is a tablet, except where Facebook names
# the device itself.
_DEVICE_RULES: Final = tuple(
    (device, re.compile(pattern))
    for device, pattern in (
        ("tv", r"TV\b|AppleTV|Web0S|NetCast|CrKey|Roku|BRAVIA|MIBOX|\bAFT[A-Z]|Large Screen"),
        ("tv", r"Xbox|PLAYSTATION 3|PlayStation [3-9]|Nintendo (?:Switch|WiiU?\b)"),
        ("tablet", r"iPad|P[Aa][Dd]\b|PlayBook|Tablet(?! PC)|Kindle|\bKF[A-Z]{3}|SM-[TX]\d|GT-P\d"),
        ("mobile", r"Mobi|Phone|iPod|Watch|Opera Mini|UCWEB|MIDP|BlackBerry|BB10|Symbian"),
        ("mobile", r"PlayStation (?:Portable|Vita)|Nintendo \w*DS|^\[FBAN/"),
        ("tablet", r"Android|Silk/"),
        ("desktop", r"Windows|Macintosh|X11|CrOS|Linux|BSD"),
    )
)


def build_parsers() -> None:
    """Build what the first call of `describe` would: it takes 70 ms."""
    describe("Mozilla")


def describe(user_agent: str) -> Agent:
    """Describe the first MAX_USER_AGENT_CHARACTERS of a User-Agent header."""
    return _describe(user_agent[:MAX_USER_AGENT_CHARACTERS])


@lru_cache(maxsize=CACHED_USER_AGENTS)
def _describe(user_agent: str) -> Agent:
    found = _parser()(replace_surrogates(user_agent))
    return Agent(
        device=_device(user_agent),
        browser=_named(_APP, _APPS, user_agent) or _family(found.user_agent, _BROWSER_OF),
        os=_named(_PLATFORM, _PLATFORMS, user_agent) or _family(found.os, _SYSTEM_OF),
    )


def _device(user_agent: str) -> str:
    reason = bot_reason(user_agent, purpose="")
    if reason:
        return "unknown" if reason == "no_user_agent" else "bot"
    matching = (device for device, pattern in _DEVICE_RULES if pattern.search(user_agent))
    return next(matching, "unknown")


def _named(pattern: re.Pattern[str], names: Mapping[str, str], user_agent: str) -> str | None:
    found = pattern.search(user_agent)
    return names[found.group()] if found else None


def _family(found: "UserAgent | OS | None", names: Mapping[str, str]) -> str:
    return names.get(found.family, "Other") if found else "unknown"


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)))


def _by_family(names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {family: name for name, families in names.items() for family in families}


@cache
def _parser() -> "Callable[[str], PartialResult]":
    """Build a parser without device models, which are the slowest to compile."""
    from ua_parser import Domain
    from ua_parser.loaders import load_lazy_builtins
    from ua_parser.regex import Resolver

    browsers, systems, _ = load_lazy_builtins()
    resolver = Resolver((browsers, systems, []))
    return lambda user_agent: resolver(user_agent, Domain.USER_AGENT | Domain.OS)


_APP: Final = _any_of(_APPS)
_PLATFORM: Final = _any_of(_PLATFORMS)
_BROWSER_OF: Final = _by_family(BROWSERS)
_SYSTEM_OF: Final = _by_family(SYSTEMS)
