"""Codes of authenticator apps, with the values of RFC 6238, and recovery codes."""

import base64
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tracker.accounts.totp import (
    RECOVERY_CODES,
    new_recovery_codes,
    new_secret,
    normal_code,
    recovery_digest,
    setup_uri,
    step_of,
)
from tracker.ids import new_id

RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.mark.parametrize(
    ("at", "code"),
    [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")],
)
def test_the_codes_are_those_of_the_rfc(at: int, code: str) -> None:
    assert step_of(RFC_SECRET, code, at) == at // 30


def test_a_clock_may_be_one_step_ahead_or_behind() -> None:
    code, step = "081804", 1111111109 // 30
    found = [step_of(RFC_SECRET, code, (step + away) * 30) for away in (-2, -1, 0, 1, 2)]
    assert found == [None, step, step, step, None]


@pytest.mark.parametrize(
    "code",
    [
        "",
        "0",
        "081805",
        "0818040",
        "x" * 64,
        "\ud800",
        "\uff10\uff18\uff11\uff18\uff10\uff14",
        "abcd-efgh",
    ],
)
def test_anything_else_is_wrong(code: str) -> None:
    assert step_of(RFC_SECRET, normal_code(code), 1111111109) is None


def test_an_app_takes_the_secret_from_the_uri() -> None:
    secret = new_secret()
    uri = urlsplit(setup_uri(secret, "ada@example.com", "t.example"))
    assert (uri.scheme, uri.netloc, uri.path) == ("otpauth", "totp", "/t.example:ada%40example.com")
    assert parse_qs(uri.query) == {"secret": [secret], "issuer": ["t.example"]}
    assert len(base64.b32decode(secret)) == 20


def test_recovery_codes_are_read_however_they_are_typed_and_belong_to_one_person() -> None:
    codes, person_id = new_recovery_codes(), new_id()
    assert len(set(codes)) == RECOVERY_CODES
    for code in codes:
        assert re.fullmatch("[a-z2-7]{4}(-[a-z2-7]{4}){3}", code)
        typed = f" {code.replace('-', ' ').upper()} "
        assert recovery_digest(person_id, typed) == recovery_digest(person_id, code)
        assert recovery_digest(new_id(), code) != recovery_digest(person_id, code)
