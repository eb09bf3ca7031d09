from urllib.parse import parse_qsl, quote, urlencode

from hypothesis import given
from hypothesis import strategies as st

from tracker.syntax.url import parameter

NAMES = st.sampled_from(["s", "d", "%73", "%64", "click_id", "ss", "", "+"])
VALUES = st.text(st.characters(max_codepoint=255, exclude_characters="&;"), max_size=8)
QUERIES = st.lists(st.tuples(NAMES, VALUES)).map(lambda ps: "&".join(f"{n}={v}" for n, v in ps))


@given(QUERIES)
def test_values_equal_those_of_the_standard_library(query: str) -> None:
    pairs = parse_qsl(query, keep_blank_values=True, encoding="latin-1")
    expected = next((value for name, value in pairs if name == "s"), "")
    assert parameter(query, "s") == expected.encode("latin-1").decode(errors="replace")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_encoded_text_is_decoded(text: str) -> None:
    assert parameter(urlencode({"a": text, "s": text}), "s") == text
    assert parameter(f"s={quote(text, safe='')}", "s") == text
