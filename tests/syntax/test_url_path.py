"""Names of paths: decoded, in NFC, without a slash at an end."""

from unicodedata import normalize
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.syntax.url_path import MAX_NAME_BYTES, encoded, folded, name_of, written

LONGEST = "a" * MAX_NAME_BYTES
LONGEST_ACCENTED = "\u00e9" * (MAX_NAME_BYTES // 2)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("spring", "spring"),
        ("spring/", "spring"),
        ("a/b//c", "a/b//c"),
        ("%73pring%2F", "spring"),
        ("a%3Fb%23c%25d", "a?b#c%d"),
        ("a%20b+c", "a b+c"),
        ("../a/./b", "../a/./b"),
        ("caf%C3%A9", "caf\u00e9"),
        ("cafe%CC%81", "caf\u00e9"),
        ("caf\xc3\xa9", "caf\u00e9"),
        ("a%", "a%"),
        ("a%zz", "a%zz"),
        (LONGEST, LONGEST),
        (quote(LONGEST_ACCENTED), LONGEST_ACCENTED),
        *(
            (path, "")
            for path in (
                *("", "/", "/a", "%2Fa", "a//", "%00", "a%0A", "a\x7fb", "%C2%85", "%FF", "a\xff"),
                *(LONGEST + "a", quote(LONGEST_ACCENTED) + "%C3%A9", "%ED%A0%80"),
            )
        ),
    ],
)
def test_a_path_has_a_name_or_none(path: str, name: str) -> None:
    assert name_of(path) == name


def test_a_typed_path_is_utf_8() -> None:
    assert name_of("caf\u00e9/cafe\u0301", "utf-8") == "caf\u00e9/caf\u00e9"
    assert name_of("a\ud800", "utf-8") == ""


@given(st.text(max_size=80))
def test_a_name_is_the_same_whatever_way_it_is_sent_or_written(text: str) -> None:
    name = name_of(quote(text, safe="", errors="replace"))
    if name:
        assert name_of(encoded(name)) == name_of(f"{encoded(name)}/") == name
        assert name_of(encoded(normalize("NFD", name))) == name
        assert name_of(written(name), "utf-8") == name
        assert not set("?# ") & set(written(name))
        assert unquote_to_bytes(encoded(name)) == name.encode()


@given(st.text(max_size=40))
def test_case_never_tells_folded_names_apart(text: str) -> None:
    name = name_of(quote(text, safe="", errors="replace"))
    assert folded(name).startswith("/")
    assert folded(name) == folded(name.casefold())
    if name.isascii():
        assert folded(name) == folded(name.upper()) == folded(name.lower())
