"""Bot reasons: the prefetch headers, and agreement with the list of bots in use."""

import crawleruseragents
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.clicks.bots import NOT_BOTS, REASONS, bot_reason

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/131.0.0.0 Safari/537.36"
)

LISTED = [
    (entry["pattern"], instance)
    for entry in crawleruseragents.CRAWLER_USER_AGENTS_DATA
    for instance in entry["instances"]
]


@pytest.mark.parametrize(
    "purpose",
    [
        "prefetch",
        "prefetch;prerender",
        "prefetch;anonymous-client-ip",
        "Prefetch",
        "preview",
        " prefetch  ",
        "prefetch prefetch",
    ],
)
def test_a_prefetch_header_is_the_reason_whatever_the_agent(purpose: str) -> None:
    assert bot_reason(CHROME, purpose) == "prefetch"
    assert bot_reason("curl/8.5.0", purpose) == "prefetch"
    assert bot_reason("", purpose) == "prefetch"


@pytest.mark.parametrize("purpose", ["", "   ", "navigate", "fetch"])
def test_other_purposes_give_no_reason(purpose: str) -> None:
    assert bot_reason(CHROME, purpose) is None


@given(st.text(), st.text())
def test_any_headers_give_a_listed_reason_or_none(user_agent: str, purpose: str) -> None:
    assert bot_reason(user_agent, purpose) in {None, *REASONS}


def test_every_bot_the_list_gives_as_an_example_is_found() -> None:
    missed = {pattern for pattern, instance in LISTED if bot_reason(instance, "") is None}
    assert missed == {"MetaIAB Facebook", r"AP3A\.240617\.008"}


def test_the_list_itself_finds_the_same_examples() -> None:
    missed = [instance for _, instance in LISTED if not crawleruseragents.is_crawler(instance)]
    assert missed == []


def test_the_patterns_left_out_are_still_in_the_list() -> None:
    listed = {entry["pattern"] for entry in crawleruseragents.CRAWLER_USER_AGENTS_DATA}
    assert set(NOT_BOTS) <= listed


@pytest.mark.parametrize(
    ("user_agent", "reason"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/120.0 (compatible; Googlebot/2.1)",
            "crawler",
        ),
        ("facebookexternalhit/1.1 python-requests/2.32", "preview"),
        ("HeadlessChrome/120.0 axios/1.7", "headless"),
    ],
)
def test_the_more_specific_of_two_reasons_is_given(user_agent: str, reason: str) -> None:
    assert bot_reason(user_agent, "") == reason


@pytest.mark.parametrize(
    "user_agent",
    [
        "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 Chrome/120.0 Mobile",
        "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1; EmbeddedWB 14.52 from: http://www.bsalsa.com)",
        "Mozilla/5.0 (Linux; Android 12; Pythons Phone) AppleWebKit/537.36 Chrome/120.0 Mobile",
        "Mozilla/5.0 (Linux; Android 13; Java Edition) AppleWebKit/537.36 Chrome/120.0 Mobile",
    ],
)
def test_a_word_that_only_looks_like_a_bot_is_no_reason(user_agent: str) -> None:
    assert bot_reason(user_agent, "") is None
