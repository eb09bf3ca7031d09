"""A payload has the structure of its template, whatever visitors and senders put into it."""

import json
import tracemalloc
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhooks.payloads.wild_payloads import WILD, as_json
from tracker.webhooks.limits import MAX_PAYLOAD_BYTES
from tracker.webhooks.macros import MACROS, Unfillable
from tracker.webhooks.payloads.payload import as_query, render
from tracker.webhooks.payloads.template import check_template
from tracker.webhooks.payloads.values import MacroValues
from tracker.webhooks.store import template_text

VALUES = MacroValues(
    fields={
        "event_id": 42,
        "click_id": "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b",
        "value": Decimal("12.50"),
        "payout": Decimal("1E-7"),
        "slug": 'a"b\\c\n{value}',
        "tags": ["summer", "{click_id}"],
        "country": "",
        "conversion_timestamp": "2026-01-31T09:30:00.123Z",
        "metadata": {"plan": "pro", "n": 1, "{value}": {"x": [True, None]}},
    },
    metadata={
        "plan": "pro",
        "first name": "Zoë",
        "a.b": 1.5,
        "o": {"k": [1]},
        "t": True,
        "z": None,
        "huge": Decimal("1E+999999"),
    },
    query={"utm_source": "news{value}", "a[]": "", "größe": "ü"},
)


def filled(value: Any, values: MacroValues = VALUES) -> Any:
    """Return `value` rendered as the only field of a template, and parsed."""
    template = {"field": value}
    check_template(template)
    [(name, result)] = parsed(render(template_text(template), values)).items()
    assert name == "field"
    return result


def parsed(payload: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(payload, parse_float=Decimal)
    return fields


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{value}", Decimal("12.50")),
        ("{metadata}", {"plan": "pro", "n": 1, "{value}": {"x": [True, None]}}),
        ("{metadata.first name}", "Zoë"),
        ("{metadata.a.b}", Decimal("1.5")),
        ("{query.größe}", "ü"),
        ("{tags|upper}", ["SUMMER", "{CLICK_ID}"]),
        ("{event_id|upper}", 42),
        ("{metadata.o|upper}", {"k": [1]}),
        *((f"{{{name}}}", None) for name in ("browser", "browser|text", "metadata.z", "query.x")),
        (" {value}", " 12.50"),
        ("{payout}/", "0.0000001/"),
        ("[{browser}{metadata.z}{query.x}]", "[]"),
        ("{query.größe|upper}{metadata.plan|upper}", "ÜPRO"),
        ("{tags|upper}!", '["SUMMER","{CLICK_ID}"]!'),
        ("{metadata.o} {metadata.t}", '{"k":[1]} true'),
        ("{metadata.o.k} {metadata.o.x}{metadata.plan.x}", "[1] "),
        ("{value|text}", "12.50"),
        ("{metadata.t|text}", "true"),
        ("{metadata.huge|text}", "1E+999999"),
        ("{conversion_timestamp|seconds}", "2026-01-31T09:30:00Z"),
        ("{conversion_timestamp|offset}", "2026-01-31T09:30:00+00:00"),
        ("\\{slug} {event_id} \\{nobody} \\{ \\", "{slug} 42 {nobody} \\{ \\"),
        ("{{event_id}}", "{42}"),
        *((text, text) for text in ("", "{ value }", '{"a":1}', "{", "}{")),
    ],
)
def test_a_macro_alone_keeps_its_type_and_within_a_text_becomes_text(text: str, value: Any) -> None:
    found = filled(text)
    assert (found, type(found)) == (value, type(value))


def test_templates_nest_and_their_names_and_other_values_stay() -> None:
    template = {
        "value": "{value}",
        "$set": {"a.b": ["{event_id}", [{"": "{tags}"}], 1, None, True, Decimal("1.10")]},
        "big": 2**70,
        "empty": [{}, [], ""],
    }
    assert render(template_text(template), VALUES).decode() == (
        '{"value":12.50,"$set":{"a.b":[42,[{"":["summer","{click_id}"]}],1,null,true,1.10]},'
        '"big":1180591620717411303424,"empty":[{},[],""]}'
    )


def test_a_template_of_an_unknown_macro_keeps_it_as_it_is() -> None:
    """Such a template may be stored from a time when the macro was known."""
    for text in ("{gone}", "a{gone}b", "{metadata.}"):
        assert parsed(render(json.dumps({"a": text}), VALUES)) == {"a": text}


JSON = st.recursive(
    WILD
    | st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WILD, inner, max_size=3),
    max_leaves=6,
)
ALL_MACROS = [*MACROS, "metadata.k", "metadata.a b", "query.q", "query.a[]", "slug|upper"]


@st.composite
def wild_values(draw: st.DrawFn) -> MacroValues:
    return MacroValues(
        fields=draw(st.dictionaries(st.sampled_from(list(MACROS)), JSON)),
        metadata=draw(st.dictionaries(st.sampled_from(["k", "a b"]), JSON)),
        query=draw(st.dictionaries(st.sampled_from(["q", "a[]"]), WILD)),
    )


class Leaf(NamedTuple):
    """A text of a template in pieces: (whether it is a macro, its name or the text)."""

    pieces: tuple[tuple[bool, str], ...]

    def text(self) -> str:
        return "".join(f"{{{piece}}}" if macro else piece for macro, piece in self.pieces)

    def expected(self, values: MacroValues) -> Any:
        if len(self.pieces) == 1 and self.pieces[0][0]:
            return values.get(self.pieces[0][1])
        return "".join(
            as_text(values.get(piece)) if macro else piece for macro, piece in self.pieces
        )


def as_text(value: Any) -> str:
    if isinstance(value, Decimal) and abs(value.adjusted()) <= 64:
        return f"{value:f}"
    return "" if value is None else value if isinstance(value, str) else as_json(value)


LEAVES = st.lists(
    st.tuples(st.just(True), st.sampled_from(ALL_MACROS))
    # A backslash right before a macro escapes it.
    | st.tuples(
        st.just(False),
        st.text('"\\:, ab\n\u00fc', min_size=1, max_size=5).filter(lambda text: text[-1] != "\\"),
    ),
    max_size=4,
).map(lambda pieces: Leaf(tuple(pieces)))
TEMPLATES = st.dictionaries(
    WILD,
    st.recursive(
        LEAVES | st.none() | st.booleans() | st.integers(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WILD, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


def each(node: Any, of_leaf: Any) -> Any:
    """Return `node` with every leaf replaced."""
    if isinstance(node, Leaf):
        return of_leaf(node)
    if isinstance(node, dict):
        return {name: each(inner, of_leaf) for name, inner in node.items()}
    if isinstance(node, list):
        return [each(inner, of_leaf) for inner in node]
    return node


@given(TEMPLATES, wild_values())
def test_values_never_change_the_structure_and_are_not_searched_for_macros(
    template: dict[str, Any], values: MacroValues
) -> None:
    text = json.dumps(each(template, Leaf.text))
    payload = parsed(render(text, values))
    expected = each(template, lambda leaf: leaf.expected(values))
    assert payload == expected
    assert list(payload) == list(template)


@given(st.dictionaries(WILD, JSON, max_size=5))
def test_a_query_has_the_fields_of_the_payload_and_no_other(fields: dict[str, Any]) -> None:
    query = as_query(as_json(fields).encode())
    assert query.isascii()
    expected = [(name, as_text(value)) for name, value in fields.items()]
    assert parse_qsl(query, keep_blank_values=True) == expected
    assert query == urlencode(expected)


@pytest.mark.parametrize("field", ["{metadata}" * 1600, ["{metadata}"] * 1200])
def test_a_payload_that_is_too_long_is_rejected_before_it_is_built(field: Any) -> None:
    """The whole payload would have 25 MB."""
    metadata = {"a": "x" * 16_000}
    values = MacroValues(fields={"metadata": metadata}, metadata=metadata, query={})
    template = template_text({"field": field})
    tracemalloc.start()
    try:
        with pytest.raises(Unfillable):
            render(template, values)
        assert tracemalloc.get_traced_memory()[1] < 10 * MAX_PAYLOAD_BYTES
    finally:
        tracemalloc.stop()


def test_a_payload_of_exactly_the_longest_size_is_rendered() -> None:
    around = len(b'{"field":""}')

    def of(length: int) -> bytes:
        values = MacroValues(fields={"slug": "x" * length}, metadata={}, query={})
        return render(template_text({"field": "{slug}"}), values)

    assert len(of(MAX_PAYLOAD_BYTES - around)) == MAX_PAYLOAD_BYTES == 65_536
    with pytest.raises(Unfillable):
        of(MAX_PAYLOAD_BYTES - around + 1)
