"""Device, browser and system of people's agents, bots' agents and arbitrary text."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracker.clicks.bots import REASONS, bot_reason
from tracker.clicks.user_agent import describe
from tracker.visitor_dimensions import BROWSERS, DEVICES, SYSTEMS, Agent


class Known(NamedTuple):
    user_agent: str
    device: str
    browser: str
    os: str
    bot: str | None


def known_agents() -> list[Known]:
    rows = json.loads(Path(__file__).with_name("user_agents.json").read_text("utf-8"))
    return [Known(**row) for row in rows]


KNOWN = known_agents()

wild_text = st.text(st.characters(exclude_categories=())) | st.binary().map(
    lambda raw: raw.decode("latin-1")
)
shuffled_agents = st.lists(
    st.sampled_from(KNOWN).flatmap(lambda known: st.sampled_from(known.user_agent.split(" "))),
    max_size=40,
).map(" ".join)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.user_agent[-40:] or "none")
def test_a_known_agent_is_described_and_has_its_bot_reason(known: Known) -> None:
    assert describe(known.user_agent) == Agent(known.device, known.browser, known.os)
    assert bot_reason(known.user_agent, "") == known.bot


def test_the_table_covers_every_device_and_every_bot_reason() -> None:
    assert {known.device for known in KNOWN} == set(DEVICES)
    assert {known.bot for known in KNOWN} == {None, *REASONS} - {"prefetch"}


@given(wild_text | shuffled_agents)
@example("\ud800 Chrome/131")
@example("\0")
def test_any_text_gives_values_from_the_closed_lists(text: str) -> None:
    agent = describe(text)
    assert agent.device in DEVICES
    assert agent.browser in {*BROWSERS, "Other", "unknown"}
    assert agent.os in {*SYSTEMS, "Other", "unknown"}
    assert bot_reason(text, "") in {None, *REASONS}


def test_a_family_outside_the_list_is_other() -> None:
    konqueror = "Mozilla/5.0 (compatible; Konqueror/4.5; SunOS) KHTML/4.5.4 (like Gecko)"
    assert describe(konqueror) == Agent("unknown", "Other", "Other")


def test_only_the_first_1024_characters_are_read() -> None:
    padding = "Mozilla/5.0 (" + "x" * 1024
    assert describe(padding + " Windows NT 10.0; Chrome/131.0").device == "unknown"
    assert bot_reason(padding + " Googlebot/2.1", "") is None


def test_no_family_has_two_names() -> None:
    for names in (BROWSERS, SYSTEMS):
        families = [family for listed in names.values() for family in listed]
        assert len(families) == len(set(families))
