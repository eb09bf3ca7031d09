"""Detection of bots from the request's headers alone, with a closed list of reasons. Pure.

Called for each click's document and device. The known bots come from package crawler-user-agents,
compiled at the first use: they take 11 MB, which a process without a drain rarely needs. The time
to match depends on the length of the agent, never on its content.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

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
}

# Bots that crawler-user-agents does not list. The last two patterns match words and URLs. A bare
# "bot" would match phones named Cubot, a bare URL old toolbars of Internet Explorer.
_OWN_PATTERNS: Final = (
    (r"\b(?:Cypress|jsdom|HtmlUnit|SlimerJS)/", "headless"),
    (
        r"^(?:ApacheBench|Bun|Dalvik|Dart|Deno|GuzzleHttp|Java|PHP|PostmanRuntime|RestSharp"
        r"|Symfony HttpClient|Typhoeus|hey|insomnia|k6|libcurl|reqwest|rest-client|undici)\b",
        "library",
    ),
    (r"^(?:Faraday|[Pp]ython|Ruby|node)\b", "library"),
    (r"\bCFNetwork/|PowerShell/|\bWinHttp", "library"),
    (r"(?i)(?:crawler|scraper|spider)\b", "crawler"),
    (r"(?i)(?:^|compatible; )[\w.-]*bot\b|[+(]https?://", "crawler"),
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
    found = _bots().extract(replace_surrogates(user_agent))
    return found.family if found else None


@cache
def _bots() -> "UserAgentExtractor":
    from ua_parser_rs import UserAgentExtractor

    return UserAgentExtractor(_matchers())


def _listed_patterns() -> list[tuple[str, str]]:
    from crawleruseragents import CRAWLER_USER_AGENTS_DATA

    listed = [
        (entry["pattern"], _REASON_OF_TAG.get(entry["tags"][0], "crawler"))
        for entry in CRAWLER_USER_AGENTS_DATA
        if entry["pattern"] not in NOT_BOTS
    ]
    return sorted(listed, key=lambda pattern: _PRECEDENCE.index(pattern[1]))


def _matchers() -> Iterator[tuple[str, str, None, None, None, None]]:
    """Yield patterns for the extractor of browser families, with reasons as families."""
    for pattern, reason in (*_listed_patterns(), *_OWN_PATTERNS):
        yield pattern, reason, None, None, None, None
