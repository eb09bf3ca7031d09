"""A template with a typo is refused when it is written, and says what was meant."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.errors import BadRequest
from tracker.syntax.strict_json import parse_json
from tracker.webhooks.limits import MAX_TEMPLATE_BYTES, MAX_TEMPLATE_DEPTH
from tracker.webhooks.macros import MACROS
from tracker.webhooks.payloads.template import DEFAULT, check_template
from tracker.webhooks.store import template_text

CONTRACT = [
    *("event_id", "click_id", "value", "payout", "payout_type", "conversion_timestamp"),
    *("conversion_timestamp_unix", "click_timestamp", "click_timestamp_unix", "event_name"),
    *("pbk", "transaction_id", "account_id", "link_id", "slug"),
    *("internal_name", "domain_name", "destination_url", "tags", "country", "device", "browser"),
    *("os", "referrer", "metadata"),
]
TEXTS = st.text(alphabet='{}ab_. "\n:é1$', max_size=20) | st.sampled_from(["{click_id}", "{x}"])
TEMPLATES: st.SearchStrategy[Any] = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        TEXTS | st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, places=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    ),
    max_size=4,
)


def refused(template: dict[str, Any]) -> str:
    with pytest.raises(BadRequest) as error:
        check_template(template)
    prefix, _, rule = error.value.message.partition(": ")
    assert prefix == "payload_template"
    return rule


def nested(levels: int, inside: Any = "{value}", as_list: bool = False) -> dict[str, Any]:
    """Return `inside` within so many levels, the outermost an object."""
    value = inside
    for number in range(levels):
        value = [value] if as_list and number < levels - 1 else {"a": value}
    return dict(value)


def test_the_known_macros_are_those_of_the_contract() -> None:
    assert list(MACROS) == CONTRACT
    assert all(MACROS.values())


def test_the_default_has_every_macro_under_its_own_name() -> None:
    assert {name: f"{{{name}}}" for name in CONTRACT} == DEFAULT
    check_template(DEFAULT)


@pytest.mark.parametrize(
    "text",
    [
        *(f"{{{name}}}" for name in CONTRACT),
        *("{metadata.plan}", "{metadata.a.b}", "{metadata.first name}", "{metadata.$x}"),
        *("{query.utm_source}", "{query.größe}", '{query.a"b}', "{query.a[]}"),
        *(
            "{country|lower}",
            "{tags|upper}",
            "{click_timestamp|offset}",
            "\\{nobody}",
            "{metadata.plan|upper}",
            "{query.a|b|lower}",
        ),
        *("id={click_id}&v={value}", "{{click_id}}", "{click_id}{click_id}"),
    ],
)
def test_a_known_macro_may_stand_anywhere(text: str) -> None:
    for template in ({"a": text}, {"a": [1, text]}, {"a": {"b": [{"c": text}]}}):
        check_template(template)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("{nobody}{click_id}", "nobody"),
        ("{{x}}", "x"),
        ("{query.|lower}", "query.|lower"),
        ("{query.}", "query."),
        ("{query}", "query"),
        ("{parameters.a}", "parameters.a"),
        ("{_}", "_"),
        ("{größe}", "größe"),
    ],
)
def test_an_unknown_macro_is_refused_by_name_with_the_known_ones(text: str, name: str) -> None:
    for template in ({"a": text}, {"a": [1, text]}, {"a": {"b": [{"c": text}]}}):
        rule = refused(template)
        known = " ".join(f"{{{one}}}" for one in CONTRACT)
        assert rule == (
            f"unknown macro {{{name}}}; known: {known} {{metadata.<key>}} {{query.<name>}} "
            "{<macro>|lower} {<macro>|upper} {<macro>|text} {<timestamp>|seconds} "
            "{<timestamp>|offset}; a backslash in front sends braces as they are: \\{name}"
        )


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        *(
            (one, "click_id")
            for one in ("clickid", "Click_id", "click-id", "clik_id", "clickid|up")
        ),
        ("valeu", "value"),
        ("value|seconds", "value"),
        ("metadatas", "metadata"),
        ("country|LOWER", "country"),
        ("conversion_timestamp_unix_", "conversion_timestamp_unix"),
    ],
)
def test_an_unknown_macro_comes_with_the_nearest_one(name: str, nearest: str) -> None:
    rule = refused({"a": f"{{{name}}}"})
    assert rule.startswith(f"unknown macro {{{name}}} (did you mean {{{nearest}}}?); known: ")


def test_at_most_ten_unknown_macros_are_named() -> None:
    assert refused({"b": "{zz} {yy}", "a": "{zz}"}).startswith("unknown macro {yy} {zz}; known: ")
    rule = refused({"a": "".join(f"{{x{number}}}" for number in range(50))})
    assert rule.partition(";")[0].count("{") == 10
    assert len(refused({"a": "{" + "x" * 10_000 + "}"})) < 1000


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "{ }", "{ click_id }", "{", "}{", "a{b", '{"a":1}', "{1,3}", "{\n}", "{,}"),
        "mutation { add(id: 1) { ok } }",
    ],
)
def test_braces_around_anything_else_are_text(text: str) -> None:
    check_template({"a": text})


def test_names_of_fields_may_be_anything_but_macros() -> None:
    check_template({"{unknown}": 1, "$where": "{value}", "a.b": {"$gt": "x", "": None}})
    for name in ("{value}", "id-{event_id}"):
        template = {"a": [{name: 1}]}
        assert refused(template).startswith("macros only in values; a name has one: ")


@pytest.mark.parametrize("as_list", [False, True])
def test_a_template_has_at_most_twenty_levels(as_list: bool) -> None:
    check_template(nested(MAX_TEMPLATE_DEPTH, as_list=as_list))
    for inside in ("{value}", 1):
        assert refused(nested(MAX_TEMPLATE_DEPTH + 1, inside, as_list)) == "at most 20 levels deep"
    assert refused(nested(MAX_TEMPLATE_DEPTH, {}, as_list)) == "at most 20 levels deep"


def test_a_template_is_at_most_16_kilobytes_of_utf8() -> None:
    frame = len('{"a":""}')
    check_template({"a": "x" * (MAX_TEMPLATE_BYTES - frame)})
    check_template({"a": "ü" * ((MAX_TEMPLATE_BYTES - frame) // 2)})
    for over in (
        "x" * (MAX_TEMPLATE_BYTES - frame + 1),
        "ü" * ((MAX_TEMPLATE_BYTES - frame) // 2 + 1),
    ):
        assert refused({"a": over}) == "at most 16384 bytes"
    assert refused({"a": [0] * MAX_TEMPLATE_BYTES}) == "at most 16384 bytes"


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"$where":"{value}","a.b":{"$gt":null},"":true}',
        '{"a":1.10,"b":18446744073709551616,"c":-0.0,"d":1E+400}',
        '{"b":1,"a":[{"c":"\U0001f600ü\\n"}]}',
    ],
)
def test_a_template_is_kept_as_it_was_sent(text: str) -> None:
    template = parse_json("body", text.encode())
    check_template(template)
    assert template_text(template) == text


@given(TEMPLATES)
def test_any_template_is_kept_or_refused(template: dict[str, Any]) -> None:
    try:
        check_template(template)
    except BadRequest as error:
        assert error.message.encode()
        return
    kept = json.loads(template_text(template), parse_float=Decimal)
    assert kept == template
