"""Whatever rules are sent: they are refused with their path, or stored, compiled and shown."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.clicks.redirects.generated import moments, visits
from tests.factories import LANDING
from tracker.clicks.country import Countries
from tracker.clicks.enrich import Enrichment
from tracker.clicks.redirects.deciding import RequestVisitor
from tracker.clicks.visit import Visit
from tracker.errors import BadRequest
from tracker.links.api.option_schema import OptionsIn, rule_fields
from tracker.links.api.rules.checks import check_rules
from tracker.links.api.rules.schema import rule_records, split_record
from tracker.links.rules.decider import decider_of, encoded
from tracker.links.rules.identity import NEW_LINK
from tracker.links.rules.rule import Deciding
from tracker.links.rules.warnings import warnings_of

ENRICHMENT = Enrichment(Countries(), store_ip=False)

NEAR = (
    *("DE", "de", "\u0131s", "es", "es-AR", "*", "iOS", "mobile", "Safari", "unknown"),
    *("a.b", "\u00e4.example", "xn--a", ".", "a..b", "fe80::1%1", "1.2.3.4", "1.2.3.4/0", "::/0"),
    *("::ffff:1.2.3.0/120", "::ffff:0:0/95", "1.2.3.4/255.255.0.0", "0x7f.1"),
)
"""Values that one kind of condition takes, or nearly."""

texts = st.one_of(st.text(max_size=110), st.sampled_from(NEAR))
values = st.lists(texts, min_size=1, max_size=3)
clocks = st.one_of(
    st.from_regex(r"[0-2][0-9]:[0-5][0-9]", fullmatch=True),
    st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]", fullmatch=True),
    texts,
)
times = st.fixed_dictionaries(
    {"zone": st.sampled_from(["UTC", "Europe/Berlin", "Factory", "../etc", ""])},
    optional={
        "weekdays": st.lists(st.integers(0, 8), max_size=8),
        "hours": st.lists(st.integers(-1, 24), max_size=3),
        "from": clocks,
        "to": clocks,
    },
)
queries = st.fixed_dictionaries({"key": texts}, optional={"values": values})
kinds = st.sampled_from(["country", "language", "device", "os", "browser", "referrer", "ip"])
conditions = st.builds(
    lambda one, negated: {**one, "not": negated},
    st.one_of(
        st.builds(lambda kind, some: {kind: some}, kinds, values),
        st.builds(lambda one: {"time": one}, times),
        st.builds(lambda one: {"query": one}, queries),
    ),
    st.booleans(),
)
urls = st.one_of(texts, st.sampled_from([LANDING, "https://a.b/{slug}", "https://a.b/{x}"]))
variants = st.fixed_dictionaries(
    {"name": texts, "destination_url": urls, "weight": st.integers(-1, 3)},
    optional={"active": st.booleans()},
)
splits = st.builds(lambda some: {"variants": some}, st.lists(variants, min_size=1, max_size=3))
rules = st.fixed_dictionaries(
    {"name": texts, "conditions": st.lists(conditions, min_size=1, max_size=3)},
    optional={"destination_url": urls, "split": splits},
)


def body_of(sent: dict[str, Any]) -> OptionsIn | None:
    """Return the body if it is accepted. What is refused is told, and nothing else is raised."""
    try:
        body = msgspec.convert(sent, OptionsIn)
        check_rules(body.rules, body.split)
    except msgspec.ValidationError as error:
        assert "`$.rules[" in str(error) or "`$.split" in str(error)
        return None
    except BadRequest as error:
        assert error.message.startswith(("rules", "split"))
        return None
    return body


def plain(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what was sent with texts that are good, so that conditions decide."""
    return {"rules": [{"name": "A", "destination_url": LANDING, "conditions": sent["conditions"]}]}


@given(st.one_of(rules.map(lambda one: {"rules": [one]}), rules.map(plain)), visits, moments)
def test_rules_that_are_accepted_are_stored_decided_and_sent_again(
    sent: dict[str, Any], visit: Visit, at: int
) -> None:
    body = body_of(sent)
    if body is None:
        return
    stored = rule_fields(body, NEW_LINK)["rules"]
    decider = decider_of(encoded(Deciding(rules=stored)) or b"", LANDING)
    decider.decide(RequestVisitor(ENRICHMENT, visit.address, visit.headers, visit.query, at))
    assert isinstance(list(warnings_of(stored, None)), list)
    shown = msgspec.to_builtins({"rules": rule_records(stored)})
    again = body_of(shown)
    assert again is not None
    assert msgspec.to_builtins({"rules": again.rules}) == shown


@given(splits)
def test_splits_that_are_accepted_are_stored_and_sent_again(sent: dict[str, Any]) -> None:
    body = body_of({"split": sent})
    if body is None:
        return
    split = rule_fields(body, NEW_LINK)["split"]
    shown = msgspec.to_builtins({"split": split_record(split)})
    assert body_of(shown) is not None
    assert "secret" not in shown["split"]
