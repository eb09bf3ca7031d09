import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.errors import BadRequest
from tracker.syntax.email import MAX_EMAIL_CHARACTERS, normal_email

LONGEST = "a" * (MAX_EMAIL_CHARACTERS - 2) + "@b"


@pytest.mark.parametrize(
    ("text", "email"),
    [
        ("ada@example.com", "ada@example.com"),
        (" Ada+Work@Example.COM\n", "ada+work@example.com"),
        ("ada@localhost", "ada@localhost"),
        ("J\u00dcRGEN@example.com", "j\u00fcrgen@example.com"),
        ("ju\u0308rgen@example.com", "j\u00fcrgen@example.com"),
        (LONGEST, LONGEST),
    ],
)
def test_an_address_has_one_stored_form(text: str, email: str) -> None:
    assert normal_email("email", text) == email


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "ada", "ada@", "@example.com", "ada@a@b", "@@", "a" + LONGEST, "a" * 10**6),
        *("ada lovelace@example.com", "ada@exam\tple.com", "a\0@b", "a\u200b@b", "a\u202e@b"),
        *("a\u00a0b@c", "a\ud800@b", "a\u2028@b"),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_anything_else_is_refused_by_the_name_of_its_field(text: str) -> None:
    with pytest.raises(BadRequest, match=r"^email: "):
        normal_email("email", text)


@given(st.text(max_size=40))
def test_the_stored_form_is_its_own_stored_form(text: str) -> None:
    try:
        email = normal_email("email", text + "@example.com")
    except BadRequest:
        return
    assert normal_email("email", email) == email
