"""A template with a typo is refused when it is written, and says what was meant."""

from typing import Any

import pytest

from tracker.errors import BadRequest
from tracker.webhooks.limits import MAX_TEMPLATE_BYTES, MAX_TEMPLATE_DEPTH
from tracker.webhooks.macros import ALL_MACROS
from tracker.webhooks.payloads.template import DEFAULT, check_template


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


@pytest.mark.parametrize(
    "text",
    [
        *DEFAULT.values(),
        *(
            "{metadata.plan}",
            "{metadata.first name}",
            "{metadata.$x}",
            '{query.a"b}',
            "{query.a[]}",
        ),
        *("{country|lower}", "{click_timestamp|offset}", "{query.a|b|lower}", "\\{nobody}"),
        *("id={click_id}&v={value}", "{{click_id}}"),
        # Braces around anything else are text.
        *("", "{}", "{ click_id }", "{", "}{", '{"a":1}', "{1,3}", "{\n}", "{,}"),
        "mutation { add(id: 1) { ok } }",
    ],
)
def test_a_known_macro_may_stand_anywhere(text: str) -> None:
    check_template({"a": text, "b": [1, text], "c": {"b": [{"c": text}]}})


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        *((name, None) for name in ("nobody", "query.|lower", "query.", "query", "_", "größe")),
        *((one, "click_id") for one in ("Click_id", "click-id", "clickid|up")),
        ("value|seconds", "value"),
        ("country|LOWER", "country"),
    ],
)
def test_an_unknown_macro_is_refused_with_the_nearest_and_the_known_ones(
    name: str, nearest: str | None
) -> None:
    advice = f" (did you mean {{{nearest}}}?)" if nearest else ""
    known = " ".join(f"{{{one}}}" for one in ALL_MACROS)
    for template in ({"a": f"{{{name}}}"}, {"a": {"b": [{"c": f"{{{name}}}{{value}}"}]}}):
        assert refused(template) == (
            f"unknown macro {{{name}}}{advice}; known: {known}"
            "; a backslash in front sends braces as they are: \\{name}"
        )


def test_at_most_ten_unknown_macros_are_named() -> None:
    assert refused({"b": "{zz} {yy}", "a": "{zz}"}).startswith("unknown macro {yy} {zz}; known: ")
    rule = refused({"a": "".join(f"{{x{number}}}" for number in range(50))})
    assert rule.partition(";")[0].count("{") == 10
    assert len(refused({"a": "{" + "x" * 10_000 + "}"})) < 1200


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
