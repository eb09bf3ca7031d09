"""Signatures are valid for the library of Standard Webhooks, and for any other."""

import base64
import hashlib
import hmac
import time
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from tests.webhooks.receiver import SECRET
from tracker.webhooks.sending.signing import signed_headers, signed_request

OTHER = "whsec_" + base64.b64encode(b"another secret of this webhook..").decode()
AT = 1_800_000_000
PAYLOAD = '{"id":"ü","v":12.50,"n":null,"o":{"a":[1]}}'.encode()


def test_the_signature_follows_the_specification() -> None:
    headers = signed_headers("0190b5a2", AT, PAYLOAD, [SECRET, OTHER])
    signed = b"msg_0190b5a2.1800000000." + PAYLOAD
    expected = [
        base64.b64encode(
            hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256)
        ).decode()
        for secret in (SECRET, OTHER)
    ]
    assert headers == {
        "webhook-id": "msg_0190b5a2",
        "webhook-timestamp": "1800000000",
        "webhook-signature": " ".join(f"v1,{one}" for one in expected),
    }


@given(st.text(), st.sampled_from([SECRET, OTHER]))
def test_either_secret_verifies_any_body_and_nothing_else(text: str, secret: str) -> None:
    body, now = text.encode(), int(time.time())
    headers = signed_headers("ab", now, body, [SECRET, OTHER])
    Webhook(secret).verify(body, headers, json_parse=False)
    for forged in (
        {**headers, "webhook-id": "msg_ac"},
        {**headers, "webhook-timestamp": str(now + 1)},
        signed_headers("ab", now, body + b" ", [SECRET, OTHER]),
        signed_headers("ab", now, body, []) | {"webhook-signature": "v1,AAAA"},
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, forged, json_parse=False)


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("https://a.example/", "https://a.example/?"),
        ("https://a.example/b?", "https://a.example/b?"),
        ("https://a.example/b?c=d&e", "https://a.example/b?c=d&e&"),
        ("https://a.example/b?c=d?e", "https://a.example/b?c=d?e&"),
    ],
)
def test_with_get_the_payload_follows_the_query_of_the_target(target: str, url: str) -> None:
    request = signed_request("GET", target, PAYLOAD, "ab", AT, [SECRET])
    added = "id=%C3%BC&v=12.50&n=&o=%7B%22a%22%3A%5B1%5D%7D"
    assert (request.url, request.body) == (url + added, None)
    query = urlsplit(request.url).query
    assert dict(request.headers) == signed_headers("ab", AT, query.encode(), [SECRET])


def test_with_get_an_empty_payload_adds_nothing() -> None:
    for target in ("https://a.example/b", "https://a.example/b?c=d"):
        assert signed_request("GET", target, b"{}", "ab", AT, [SECRET]).url == target
