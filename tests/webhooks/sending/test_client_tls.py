"""A receiver over TLS must have a valid certificate for its host."""

import ssl

import pytest
import trustme

from tests.webhooks.receiver import receiving
from tests.webhooks.sending.posting import request
from tracker.webhooks.sending.client import WebhookClient


def certified(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("trusted", "name", "error"),
    [
        (True, "127.0.0.1", None),
        (
            True,
            "hooks.example",
            "tls: IP address mismatch, certificate is not valid for '127.0.0.1'.",
        ),
        (False, "127.0.0.1", "tls: unable to get local issuer certificate"),
    ],
)
async def test_a_certificate_has_to_be_valid_for_the_host(
    monkeypatch: pytest.MonkeyPatch,
    trusted: bool,
    name: str,
    error: str | None,
) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context()
    if trusted:
        authority.configure_trust(context)
    monkeypatch.setattr("tornado.simple_httpclient._client_ssl_defaults", lambda: context)
    async with receiving(tls=certified(authority, name)) as receiver:
        client = WebhookClient(allow_private=True, dns_address=None)
        outcome = await client.send(request(receiver.url))
    assert (outcome.delivered, outcome.error) == (error is None, error)
    assert len(receiver.received) == (error is None)
