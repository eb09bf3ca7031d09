"""Destinations of new links: good ones pass, and each bad one is rejected with its rule."""

import re
from collections.abc import Callable

import pytest

from tracker.errors import BadRequest
from tracker.links.destination import DESTINATION_FIELD, OWN_REDIRECT, redirect_address
from tracker.syntax.url import MAX_CHARACTERS, check_url


def check(url: str, is_own: Callable[[str, int], bool]) -> None:
    """Check a new link's destination as the endpoint does."""
    check_url(DESTINATION_FIELD, url)
    address = redirect_address(url)
    if address and is_own(*address):
        raise BadRequest(OWN_REDIRECT)


OWN = {
    ("go.example.net", 443),
    ("plain.example", 80),
    ("::1", 8000),
    ("xn--bcher-kva.example", 443),
}


def is_own(host: str, port: int) -> bool:
    return (host, port) in OWN


@pytest.mark.parametrize(
    "url",
    [
        "http://x.example/",
        "HTTPS://X.EXAMPLE/",
        "https://x.example.:443/",
        "https://r3---sn-a.example/",
        "https://-x.example/",
        "https://x-.example:/",
        "https://ab--cd.bücher.example/",
        "https://i❤\ufe0f.example/",
        "https://xn--i-7iq.example/",
        "https://xn--bcher-kva.example/p",
        "https://bücher.example/ü?ü#ü",
        "https://192.0.2.1/",
        "https://[2001:db8::1]/",
        "https://[::ffff:192.0.2.1]:8443/",
        "https://x.example/{slug}?a={click_id}&b={unknown}#{os}",
        "https://x.example/@user?email=a@b.example",
        f"https://{'a' * 63}.example/",
        f"https://x.example/{'p' * (MAX_CHARACTERS - 18)}",
        "https://go.example.net/",
        "https://go.example.net/cc/x",
        "https://go.example.net/C/x",
        "https://go.example.net/?/c/x",
        "https://go.example.net:8443/c/x",
        "https://other.example/c/x",
        "https://plain.example/c/x",
    ],
)
def test_a_good_destination_passes(url: str) -> None:
    check(url, is_own)


HOST = "the host must be"
SCHEME = "must be an absolute http or https URL"


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("", SCHEME),
        ("x.example", SCHEME),
        ("/path", SCHEME),
        ("javascript:alert(1)//https://x.example", SCHEME),
        ("https:/x.example", SCHEME),
        ("http\u017f://x.example/", SCHEME),
        ("https://", HOST),
        ("https://:443/", HOST),
        ("https://./", HOST),
        ("https://x..example/", HOST),
        ("https://x\u200dy.example/", HOST),
        ("https://xn--bücher-kva.example/", HOST),
        ("https://x%2eexample/", HOST),
        ("https://{slug}.example/", HOST),
        ("https://{domain_name}/", HOST),
        (f"https://{'a' * 64}.example/", HOST),
        (f"https://{'a.' * 126}example/", HOST),
        (f"https://{'ü' * 63}.example/", HOST),
        ("https://\u2488.example/", HOST),
        ("https://127.1/", HOST),
        ("https://0x7f000001/", HOST),
        ("https://010.0.0.1/", HOST),
        ("https://[::1/", HOST),
        ("https://[1.2.3.4]/", HOST),
        ("https://[fe80::1%25eth0]/", HOST),
        ("https://::1/", HOST),
        ("https://x.example:0/", "the port must be 1 to 65535"),
        ("https://x.example:65536/", "the port must be 1 to 65535"),
        ("https://x.example:-1/", "the port must be 1 to 65535"),
        ("https://x.example:\u0661/", "the port must be 1 to 65535"),
        ("https://x.example:{slug}/", "the port must be 1 to 65535"),
        ("https://user@x.example/", "no user info before the host"),
        ("https://user:password@x.example/", "no user info before the host"),
        ("https://x.example/\r\nX: y", "no control characters"),
        ("https://x.example/\x00", "no control characters"),
        ("https://x.example/\x7f", "no control characters"),
        (" https://x.example/", "no white space"),
        ("https://x.example/a b", "no white space"),
        ("https://x.example/\u00a0", "no white space"),
        ("https://x.example\\@y.example/", "no backslash"),
        ("https://x.example/\ud800", "no lone surrogates"),
        (f"https://x.example/{'p' * (MAX_CHARACTERS - 17)}", "at most 2048 characters"),
    ],
)
def test_a_bad_destination_is_rejected_with_the_rule(url: str, rule: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(f"destination_url: {rule}")):
        check(url, is_own)


@pytest.mark.parametrize(
    "url",
    [
        "https://go.example.net/c/x",
        "https://go.example.net:443/c/x?a=1#f",
        "https://GO.Example.NET./c/x",
        "https://go.example.net/api/click?s=x",
        "HTTP://plain.example/api/click",
        "https://go.example.net/%63/x",
        "https://go.example.net/c%2Fx",
        "https://go.example.net/a/../c/x",
        "https://go.example.net/a/%2E%2e/c/x",
        "https://go.example.net/../../api/./%63lick",
        "https://go.example.net/c/{slug}",
        "https://go.example.net/{slug}/x",
        "https://\uff47\uff4f.example.net/c/x",
        "https://bücher.example/c/x",
        "http://[0:0::1]:8000/c/x",
    ],
)
def test_a_redirect_of_this_service_is_rejected(url: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(OWN_REDIRECT)):
        check(url, is_own)
