"""Warnings: rules that no visitor reaches, and splits from which nobody draws."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import make_split
from tracker.ids import new_id
from tracker.links.rules import warnings
from tracker.links.rules.rule import Condition, Rule
from tracker.links.rules.warnings import implies, warnings_of

BERLIN = {"zone": "Europe/Berlin"}
REACHED = ""
BEHIND = "is never reached: rules[0] holds whenever it does"
NEVER = "can never hold: its conditions exclude each other"

Given = dict[str, Any]


def rule(*conditions: Given, **fields: Any) -> Rule:
    given = {"destination_url": "https://a.example/", **fields}
    found = msgspec.convert([*conditions], list[Condition])
    return Rule(id=new_id(), name="A rule", conditions=found, **given)


def one(**fields: Any) -> Given:
    return {name.removesuffix("_"): value for name, value in fields.items()}


def time(**fields: Any) -> Given:
    return {"time": {**BERLIN, **one(**fields)}}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([one(country=["DE", "AT"])], [one(country=["AT"])], BEHIND),
        ([one(country=["AT"])], [one(country=["DE", "AT"])], REACHED),
        ([one(country=["AT"])], [one(country=["AT"]), one(os=["iOS"])], BEHIND),
        ([one(country=["AT"]), one(os=["iOS"])], [one(country=["AT"])], REACHED),
        ([one(country=["DE"], not_=True)], [one(country=["AT"])], BEHIND),
        ([one(country=["DE"], not_=True)], [one(country=["DE", "AT"])], REACHED),
        ([one(country=["DE"], not_=True)], [one(country=["DE", "AT"], not_=True)], BEHIND),
        ([one(country=["DE", "AT"], not_=True)], [one(country=["DE"], not_=True)], REACHED),
        ([one(country=["DE"])], [one(country=["DE"], not_=True)], REACHED),
        ([one(language=["es"])], [one(language=["es-AR"])], BEHIND),
        ([one(language=["es"])], [one(language=["est"])], REACHED),
        ([one(language=["es"], not_=True)], [one(language=["fr"])], REACHED),
        ([one(referrer=["a.example"])], [one(referrer=["www.a.example"])], BEHIND),
        ([one(referrer=["a.example"])], [one(referrer=["ba.example"])], REACHED),
        ([one(ip=["10.0.0.0/8", "::/8"])], [one(ip=["10.0.0.0/8"])], BEHIND),
        ([one(ip=["10.0.0.0/8"])], [one(ip=["10.1.0.0/16", "::1/128"])], REACHED),
        ([one(query={"key": "a"})], [one(query={"key": "a", "values": ["1"]})], BEHIND),
        ([one(query={"key": "a", "values": ["1"]})], [one(query={"key": "a"})], REACHED),
        ([one(query={"key": "a"})], [one(query={"key": "b"})], REACHED),
        ([time(weekdays=[1, 2])], [time(weekdays=[1], hours=[9])], BEHIND),
        ([time(weekdays=[1, 2])], [time(hours=[9])], REACHED),
        ([time(from_="09:00", hours=[9])], [time(from_="09:00", hours=[9])], BEHIND),
        ([time(from_="09:00")], [time(from_="10:00")], REACHED),
        ([time(hours=[9])], [{"time": {"zone": "UTC", "hours": [9]}}], REACHED),
        ([one(os=["iOS"])], [one(country=["DE"]), one(country=["AT"])], NEVER),
        ([one(os=["iOS"])], [one(language=["es-AR"]), one(language=["es"], not_=True)], NEVER),
        ([one(os=["iOS"])], [one(language=["es"]), one(language=["fr"])], REACHED),
    ],
)
def test_a_rule_is_named_that_no_visitor_reaches(
    first: list[Given], second: list[Given], message: str
) -> None:
    found = warnings_of([rule(*first), rule(*second)], None)
    assert [(one.path, one.message) for one in found] == ([("rules[1]", message)] * bool(message))


def test_a_split_is_named_of_which_no_active_variant_has_a_weight() -> None:
    paused = make_split(a=0, b=0)
    split = rule(one(os=["iOS"]), split=paused, destination_url=None)
    assert [one.path for one in warnings_of([split], paused)] == ["rules[0].split", "split"]
    assert list(warnings_of([], make_split(a=0, b=1))) == []


def test_rules_with_very_many_values_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [rule(one(country=["DE", "AT", "FR"]))] * 2
    monkeypatch.setattr(warnings, "MAX_COMPARISONS", 12)
    assert [one.path for one in warnings_of(rules, None)] == ["rules[1]"]
    monkeypatch.setattr(warnings, "MAX_COMPARISONS", 11)
    assert list(warnings_of(rules, None)) == []


COUNTRIES, LANGUAGES, HOSTS = ("DE", "AT", "FR"), ("es", "es-ar", "fr"), ("a.b", "c.a.b", "d")
KINDS = {"country": COUNTRIES, "language": LANGUAGES, "referrer": HOSTS}


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    kind = draw(st.sampled_from([*KINDS]))
    values = draw(st.lists(st.sampled_from(KINDS[kind]), min_size=1, unique=True))
    return msgspec.convert({kind: values, "not": draw(st.booleans())}, Condition)


VISITORS = st.fixed_dictionaries(
    {
        "country": st.lists(st.sampled_from(COUNTRIES), max_size=1),
        "language": st.lists(st.sampled_from(LANGUAGES), max_size=2),
        "referrer": st.lists(st.sampled_from(HOSTS), max_size=1),
    }
)


def holds(condition: Condition, visitor: dict[str, list[str]]) -> bool:
    """Return whether a condition holds, as its definition says it."""
    kind = next(name for name in KINDS if getattr(condition, name))
    known, wanted = visitor[kind], getattr(condition, kind)
    if not known:
        return False
    found = {
        "country": any(one in wanted for one in known),
        "language": any(f"{one}-".startswith(f"{tag}-") for one in known for tag in wanted),
        "referrer": any(f".{one}".endswith(f".{host}") for one in known for host in wanted),
    }[kind]
    return found != condition.not_


@given(conditions(), conditions(), VISITORS)
def test_what_a_condition_implies_holds_for_each_visitor_for_whom_it_holds(
    one: Condition, other: Condition, visitor: dict[str, list[str]]
) -> None:
    if implies(one, other) and holds(one, visitor):
        assert holds(other, visitor)
