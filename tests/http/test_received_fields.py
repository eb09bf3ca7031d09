"""The fields of a head are Tornado's HTTPHeaders in every way."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tornado.httputil import HTTPHeaders, HTTPInputError

from tests.http.heads import raw_of, read
from tracker.http.head import HeadReader

TOKEN = "!#$%&'*+-.^_`|~019AaZz"
OWN = ("host", "content-length", "transfer-encoding", "connection", "upgrade", "proxy-connection")

SPELLINGS = ("Accept", "accept", "ACCEPT", "X-Forwarded-For", "etag", "TE", "www-authenticate")

names = st.text(TOKEN, min_size=1, max_size=12) | st.sampled_from(SPELLINGS)
values = st.text(
    st.characters(max_codepoint=255, blacklist_categories=["Cc"], whitelist_characters="\t"),
    max_size=30,
)
fields = st.lists(
    st.tuples(names.filter(lambda name: name.lower() not in OWN), values), max_size=12
)


def tornados(raw: bytes) -> HTTPHeaders | None:
    """Return the fields as Tornado reads them, or None if it refuses them."""
    lines = raw.decode("latin-1").partition("\r\n")[2]
    try:
        return HTTPHeaders.parse(lines)
    except HTTPInputError:
        return None


def all_that_shows(headers: HTTPHeaders) -> object:
    keys = list(headers)
    return (
        list(headers.get_all()),
        [(key, headers[key], headers.get_list(key), key.lower() in headers) for key in keys],
        list(headers.items()),
        len(headers),
        str(headers),
        "Missing" in headers,
        headers.get("Missing"),
        list(copy.copy(headers).get_all()),
        headers == HTTPHeaders(headers),
    )


@given(fields, names)
def test_received_fields_are_as_tornado_reads_them(
    pairs: list[tuple[str, str]], absent: str
) -> None:
    raw = raw_of(pairs)
    ours, expected = read(HeadReader(), raw).headers, tornados(raw)
    assert expected is not None
    for name in ("host", absent, *(name for name, _ in pairs)):
        assert ours.get(name) == expected.get(name)
        assert ours.get(name, "default") == expected.get(name, "default")
        assert (name in ours) == (name in expected)
        if name in expected:
            assert ours[name] == expected[name]
        else:
            with pytest.raises(KeyError):
                ours[name]
    assert all_that_shows(ours) == all_that_shows(expected)
