"""Invisible characters, by cases that the console's module is tested with too."""

import sys
from unicodedata import category, name

import msgspec

from tests.paths import ROOT
from tracker.errors import BadRequest
from tracker.syntax.invisible import check_visible, stripped

CASES = msgspec.json.decode((ROOT / "tests/console/modules/invisible.json").read_bytes())


def test_what_copying_adds_is_taken_off_the_ends() -> None:
    assert [stripped(text) for text, _ in CASES["stripped"]] == [
        expected for _, expected in CASES["stripped"]
    ]


def test_the_first_one_within_host_or_path_is_named() -> None:
    found = []
    for url, _ in CASES["within"]:
        try:
            check_visible("url", url)
            found.append("")
        except BadRequest as error:
            assert error.message.startswith("url: has an invisible character (U+")
            found.append(error.message.partition("(")[2].strip(")").partition(" ")[0])
    assert found == [expected for _, expected in CASES["within"]]


def test_they_are_the_control_and_format_characters_that_nobody_sees() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    gone = {one for one in characters if not stripped(one)}
    controls = {one for one in characters if category(one) in ("Cc", "Cf")}
    assert all(one.isspace() for one in gone - controls)
    # Number and other signs of Arabic, Syriac, Kaithi; hieroglyphs; tags, and their end.
    assert {name(one).split()[0] for one in controls - gone} == {
        *("ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN", "TAG", "CANCEL"),
    }
