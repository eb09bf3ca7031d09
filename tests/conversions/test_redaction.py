"""What is kept of a refused request: no secret, and whose it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.conversions.redaction import MAX_TEXT, redacted
from tracker.ids import new_id

CLICK = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a1c"
PART = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("pbk=abcdefgh&value=x", "pbk=abcd…&value=x"),
        ("value=x&pbk=abcdefgh", "value=x&pbk=abcd…"),
        ("click_id={click_id}&value=3", "click_id={click_id}&value=3"),
        ("password=1&value=3", "password=…&value=3"),
        ("api_key=1&user%5Bemail%5D=a%40b.c&x=token", "api_key=…&user%5Bemail%5D=…&x=token"),
        ("api-key=1&pwd=2&x=3", "api-key=…&pwd=…&x=3"),
        ("PBK=abcdefgh&postback_key=ijklmnop", "PBK=abcd…&postback_key=ijkl…"),
        # Metadata is JSON in a query, encoded or not.
        (
            'metadata={"password":"s3cret","plan":"pro"}&value=3',
            'metadata={"password":…,"plan":"pro"}&value=3',
        ),
        (
            "metadata=%7B%22password%22%3A%22s%5C%223cret%22%2C%22plan%22%3A%22pro%22%7D&value=3",
            "metadata=%7B%22password%22%3A…%2C%22plan%22%3A%22pro%22%7D&value=3",
        ),
        (
            "metadata=%7B%22plan%22:+%22pro%22,+%22user_token%22:%2012,+%22a%22:1%7D&value=3",
            "metadata=%7B%22plan%22:+%22pro%22,+%22user_token%22:%20…,+%22a%22:1%7D&value=3",
        ),
        ("metadata=%7B%22email%22%3A%22never ends", "metadata=%7B%22email%22%3A…"),
        # The name of the key, the key, or the URL that has it may be encoded.
        ("p%62k=abcdefgh&value=x", "p%62k=abcd…&value=x"),
        ("%EF%BB%BFpbk=abcdefgh&value=x", "%EF%BB%BFpbk=abcd…&value=x"),
        ("p%62k=a%62cdefg%2568&again=abcdefgh", "p%62k=abcd…&again=abcd…"),
        (
            "u=https%3A%2F%2Fx%2F%3Fpbk%3Dabcdefgh%26v%3D1",
            "u=https%3A%2F%2Fx%2F%3Fpbk%3Dabcd…%26v%3D1",
        ),
        ("u=http%253A%252F%252Fx%253Fpbk%253Dabcdefgh", "u=http%253A%252F%252Fx%253Fpbk%253Dabcd…"),
        (
            "a=1&amp;pbk=abcdefgh&[pbk]=ijklmnop&pbk[]=qrst",
            "a=1&amp;pbk=abcd…&[pbk]=ijkl…&pbk[]=qrst…",
        ),
        ("pbk%0A=abcdefgh&%EF%BB%BFpbk=ijklmnop", "pbk%0A=abcd…&%EF%BB%BFpbk=ijkl…"),
        (
            'event[pbk]=abcdefgh&pbk[0]=ijklmnop&"pbk"=qrstuvwx',
            'event[pbk]=abcd…&pbk[0]=ijkl…&"pbk"=qrst…',
        ),
        ("sub_pbk=abcdefgh&x-pbk=ijklmnop", "sub_pbk=abcdefgh&x-pbk=ijklmnop"),
        # Anything may stand between name and key.
        ("data[pbk]=abcdefghij%6Blmno&v=1", "data[pbk]=abcd…&v=1"),
        ("pbk[0]=abcdefgh&pbk%20=ijklmnop", "pbk[0]=abcd…&pbk%20=ijkl…"),
        ("v=1|pbk:abcdefgh", "v=1|pbk:abcd…"),
        ("pbk=&click_id=abcdefgh&unpbk=ijklmnop", "pbk=&click_id=abcdefgh&unpbk=ijklmnop"),
        ("", ""),
    ],
)
def test_a_query_is_kept_without_secrets(query: str, shown: str) -> None:
    assert redacted(query.encode(), b"").query == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (
            '{"pbk": "abcdefgh", "metadata": {"customer_email": "a@b.c", "plan": "pro"}}',
            '{"pbk": "abcd…", "metadata": {"customer_email": …, "plan": "pro"}}',
        ),
        ('{"token":12,"value":"a\\"b"}', '{"token":…,"value":"a\\"b"}'),
        ('{"secret": "never ends', '{"secret": …'),
        ('{"amp;pbk": "abcdefgh", "pbk[]":"ijkl"}', '{"amp;pbk": "abcd…", "pbk[]":"ijkl…"}'),
        ("\ufeffpbk=abcdefgh&v=1", "\ufeffpbk=abcd…&v=1"),
        ('{"p\\u0062k": "abcdefgh", "v": 1}', '{"p\\u0062k": "abcd…", "v": 1}'),
        ('{"pbk": "\\u0061bcdefgh"}', '{"pbk": "\\u00…"}'),
        ('{"url": "https://x.example/?pbk=abcdefgh"}', '{"url": "https://x.example/?pbk=abcd…"}'),
        ('{"pbk": ["abcdefgh"]}', '{"pbk": ["abcd…"]}'),
        (r'{"text": "{\"pbk\":\"abcdefgh\"}"}', r'{"text": "{\"pbk\":\"abcd…\"}"}'),
        ("{'pbk': 'abcdefgh', 'v': 'ijklmnop'}", "{'pbk': 'abcd…', 'v': 'ijklmnop'}"),
        ("<pbk>abcdefgh</pbk>", "<pbk>abcd…</pbk>"),
        # Text that holds JSON is refused as metadata.
        (
            r'{"metadata":"{\"password\":\"s3cret\",\"plan\":\"pro\"}"}',
            r'{"metadata":"{\"password\":…,\"plan\":\"pro\"}"}',
        ),
        # Of types that are refused.
        ("<o><email>a@b.c</email><id>1</id></o>", "<o><email>…</email><id>1</id></o>"),
        ("value=1\r\npassword=a b\r\nplan=pro", "value=1\r\npassword=…\r\nplan=pro"),
        ("value=1; token=abc", "value=1; token=…"),
        (PART.format("pbk", "abcdefgh"), PART.format("pbk", "abcd…")),
        (PART.format("password", "abcdefgh"), PART.format("password", "…")),
    ],
)
def test_a_body_is_kept_without_secrets(body: str, shown: str) -> None:
    assert redacted(b"", body.encode()).body == shown


@pytest.mark.parametrize(
    ("query", "body"),
    [
        (f"pbk=a%5Fb&click_id={CLICK}", ""),
        ("", f'{{"click_id":"{CLICK}","pbk" : "a_b"}}'),
        ("pbk=other", f"pbk=a_b&click_id={CLICK}"),
        ("", PART.format("pbk", "a_b") + PART.format("click_id", CLICK)),
        (f"PBK=a_b&Click_ID={CLICK}", ""),
        (f"%EF%BB%BFpbk=a_b&click_id%0A={CLICK}", ""),
        (f"pbk%3Da_b&event[click_id]={CLICK}", ""),
        ("", f'{{"click_id[]":"{CLICK}","amp;pbk" : "a_b"}}'),
    ],
    ids=["query", "json", "form", "multipart", "case", "marks", "encoded", "json marks"],
)
def test_the_postback_key_and_the_click_are_read_from_any_form(query: str, body: str) -> None:
    found = redacted(query.encode(), body.encode())
    assert (found.pbk, str(found.click_id)) == ("a_b", CLICK)


@given(st.binary(max_size=3 * MAX_TEXT), st.binary(max_size=3 * MAX_TEXT))
def test_any_bytes_are_read(query: bytes, body: bytes) -> None:
    found = redacted(query, body)
    assert len(found.query) <= MAX_TEXT + 10 * query.count(b"=") + 1
    assert found.pbk is None or found.pbk.isprintable()


def test_what_is_no_id_names_no_click() -> None:
    assert redacted(f"click_id={new_id()}x&pbk=".encode(), b"")[2:] == (None, None)
