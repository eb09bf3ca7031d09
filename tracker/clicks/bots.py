"""Detection of bots from the request's headers alone, with a closed list of reasons. Pure.

Called for each click's document and device. The known bots come from package crawler-user-agents,
compiled at the first use: they take 11 MB, which a process without a drain rarely needs. The time
to match depends on the length of the agent, never on its content.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ua_parser_rs import UserAgentExtractor

REASONS: Final = {
    "prefetch": "a browser fetched the link ahead of a possible click; its headers say so",
    "no_user_agent": "the request names no user agent",
    "preview": "a messenger, social network or mail service fetched the link to show a preview",
    "crawler": "a search, model-training, SEO, advertising, monitoring or security robot",
    "headless": "a browser driven by a program",
    "library": "a command-line client, or the HTTP library of a program or an app",
}

MAX_USER_AGENT_CHARACTERS: Final = 1024
"""Only the beginning of a user agent is read."""

CACHED_USER_AGENTS: Final = 10_000

_PREFETCH: Final = ("prefetch", "prerender", "preview")

# By the first tag of an entry in crawler-user-agents. All other tags mean crawlers.
_REASON_OF_TAG: Final = {
    "social-preview": "preview",
    "browser-automation": "headless",
    "http-library": "library",
}

# Patterns of crawler-user-agents that are not used, because they match people too.
NOT_BOTS: Final = {
    "MetaIAB Facebook": "the browser inside the Facebook app, on Android and iOS",
    r"AP3A\.240617\.008": "the build number of Android 15 on phones of several makers",
    "Sogou": "Sogou Mobile Browser too; Sogou's crawler is known by its word spider",
    r"008\/": "the end of model numbers, such as TS1008/1.0; its crawler is known by its URL",
    "Fluid": "a browser for single sites on macOS",
}

# An app's name begins the agent of its previews and feeds, and ends the agent of its own browser:
# `Viber` and `Mozilla/5.0 (…; wv) … Viber/27.4`. Names with these words are of robots alone.
_APPS: Final = ("social-preview", "feed-reader")
_ROBOT: Final = re.compile(r"(?i)bot|external|fetch|preview|proxy")

# Bots that crawler-user-agents does not list, by their kind. A kind that no browser shows, such as
# a URL, needs no name. The URL after a colon is that of old toolbars of Internet Explorer, and
# Cubot makes phones.
_OWN_PATTERNS: Final = (
    (r"\bCardyb\b|(?i)preview\b", "preview"),
    (r"\b(?:Cypress|jsdom|HtmlUnit|SlimerJS)/", "headless"),
    (r"\bCFNetwork/|PowerShell/|\bWinHttp|(?i)\bms-office\b", "library"),
    (r"(?i)(?:crawler|scraper|spider|(?:^u?|[^u]|[^c]u)bot)\b", "crawler"),
    (
        r"(?i)(?:(?:health|link)-?check\w*|check(?:er|link)|monitor(?:ing)?|validator|kube-probe"
        r"|uptime|synthetics?|diagnostics|observatory)(?:\b|_)|googlehc\b|-google/",
        "crawler",
    ),
    (r"(?:^|[^:\s]\s?)https?://|(?:^|[^/\w])www\.\w|mailto:|[\w.-]@[\w-]+\.[A-Za-z]", "crawler"),
    (r"KHTML, like Gecko; ?[\w-]", "crawler"),
)

# A device is named after the system, as in `Android 13; Spider 8)`, and again by Instagram and
# Facebook. Its name says nothing of the visitor.
_DEVICE_NAME: Final = re.compile(
    r"(Android[^;()]*[;(])[^()]*?(?=\bBuild/|[()]|$)|\[FB[^\]]*", re.IGNORECASE
)

# Each browser's agent has one of these, and its system behind Mozilla. An agent without them is of
# a program or an app.
_USUAL: Final = "Mozilla/5.0 ("
_BROWSER: Final = re.compile(
    r"^Mozilla[^(;]*[(;]|Opera\b|WebKit|Browser?\b|Chrom|Safari|MSIE|IEMobile|MIDP|Obigo|Teleca"
    r"|NetFront|HbbTV|UCWEB|MAUI|DoCoMo|\bUP/|\bOPR/|Mosaic|Voyager"
    r"|^(?:Lynx|E?Links|w3m|Dillo|amaya|iP[aho]|\[FB)",
    re.IGNORECASE,
)

# These are compatible with Mozilla, as crawlers are.
_COMPATIBLE: Final = re.compile(
    r"compatible;(?! ?(?:MSIE|Konqueror|U;|Linux|Gecko|\w*Browse|NetPositive|Polaris|OffByOne|ANT))"
)

# An agent may match twice, such as a crawler on a headless browser: the more specific reason wins.
_PRECEDENCE: Final = ("preview", "crawler", "headless", "library")


def bot_reason(user_agent: str, purpose: str) -> str | None:
    """Return one of REASONS, or None for a person. `purpose` joins the prefetch headers."""
    if purpose and any(word in purpose.lower() for word in _PREFETCH):
        return "prefetch"
    return _agent_reason(user_agent[:MAX_USER_AGENT_CHARACTERS])


def replace_surrogates(user_agent: str) -> str:
    """Replace lone surrogates, which the compiled matchers refuse."""
    return user_agent.encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=CACHED_USER_AGENTS)
def _agent_reason(user_agent: str) -> str | None:
    if not user_agent.strip():
        return "no_user_agent"
    found = _known_bot(user_agent)
    if found and "ndroid" in user_agent:
        found = _known_bot(_DEVICE_NAME.sub(r"\1", user_agent))
    if found:
        return found
    if not user_agent.startswith(_USUAL) and not _BROWSER.search(user_agent):
        return "library"
    if "compatible;" in user_agent and _COMPATIBLE.search(user_agent):
        return "crawler"
    return None


def _known_bot(user_agent: str) -> str | None:
    found = _bots().extract(replace_surrogates(user_agent))
    return found.family if found else None


@cache
def _bots() -> "UserAgentExtractor":
    from ua_parser_rs import UserAgentExtractor

    patterns = (*_listed_patterns(), *_OWN_PATTERNS)
    # An extractor of browser families, with reasons as families.
    return UserAgentExtractor((one, reason, None, None, None, None) for one, reason in patterns)


def _listed_patterns() -> list[tuple[str, str]]:
    from crawleruseragents import CRAWLER_USER_AGENTS_DATA

    listed = [
        (_pattern(entry), _REASON_OF_TAG.get(entry["tags"][0], "crawler"))
        for entry in CRAWLER_USER_AGENTS_DATA
        if entry["pattern"] not in NOT_BOTS
    ]
    return sorted(listed, key=lambda pattern: _PRECEDENCE.index(pattern[1]))


def _pattern(entry: Mapping[str, Any]) -> str:
    """Return the pattern, which must begin the agent if it is the name of an app."""
    pattern: str = entry["pattern"]
    if entry["tags"][0] not in _APPS or _ROBOT.search(pattern):
        return pattern
    examples = entry["instances"]
    begins = examples and all(re.match(pattern, one) for one in examples)
    return f"^(?:{pattern})" if begins else pattern
