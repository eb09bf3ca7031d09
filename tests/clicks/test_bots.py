"""Bot reasons: the prefetch headers, the list of bots in use, and agents of bots and people.

The agents in bots_and_people.json are facts of public fixtures: of bots from isbot (public domain)
and Matomo's device-detector (LGPL), of people from the latter. Some are as their makers document.
"""

import json
from pathlib import Path

import crawleruseragents
import pytest

from tracker.clicks.bots import NOT_BOTS, bot_reason

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


def test_every_bot_the_list_gives_as_an_example_is_found() -> None:
    missed = {pattern for pattern, instance in LISTED if bot_reason(instance, "") is None}
    assert missed == {"MetaIAB Facebook", r"AP3A\.240617\.008", "Fluid"}


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


def test_agents_of_bots_have_a_reason_and_those_of_people_none() -> None:
    known = json.loads(Path(__file__).with_name("bots_and_people.json").read_text("utf-8"))
    people = dict.fromkeys(known["people"])
    for agent, reason in {**known["bots"], **people}.items():
        assert bot_reason(agent, "") == reason, agent
