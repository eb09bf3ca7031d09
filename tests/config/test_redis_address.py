"""REDIS_URL names one server, the sentinels that know which is the primary, or a cluster."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.addresses import UnusableAddress, check_redis
from config.redis_address import SentinelAddress, cluster_address, sentinel_address


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "redis+sentinel://a,b:26380,[::1]:1/main",
            SentinelAddress((("a", 26379), ("b", 26380), ("::1", 1)), "main", "redis://main/", {}),
        ),
        (
            "rediss+sentinel://user:p%40ss@a/my.main-1/2?ssl_cert_reqs=none",
            SentinelAddress(
                (("a", 26379),),
                "my.main-1",
                "rediss://user:p%40ss@my.main-1/2?ssl_cert_reqs=none",
                {},
            ),
        ),
        (
            "redis+sentinel://:secret@a/main?sentinel_username=u&sentinel_password=%26p",
            SentinelAddress(
                (("a", 26379),),
                "main",
                "redis://:secret@main/",
                {"username": "u", "password": "&p"},
            ),
        ),
    ],
)
def test_an_address_of_sentinels_is_split_into_its_parts(
    url: str, expected: SentinelAddress
) -> None:
    assert sentinel_address(url) == expected
    check_redis(url)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("redis+sentinel://a", "name of the primary"),
        ("redis+sentinel://a/", "name of the primary"),
        ("redis+sentinel://a/two words", "name of the primary"),
        ("redis+sentinel:///main", "host or host:port"),
        ("redis+sentinel://a,,b/main", "host or host:port"),
        ("redis+sentinel://a:port/main", "host or host:port"),
        ("redis+sentinel://a:99999/main", "host or host:port"),
        ("redis+sentinel://a/main/first", "number of a database"),
        ("redis+sentinel://a/main?ssl_cert_reqs=none", "begin it with rediss://"),
        ("redis+sentinels://a/main", "must start with"),
        ("redis+cluster://", "host or host:port"),
        ("redis+cluster://a,,b", "host or host:port"),
        ("redis+cluster://a/1", "has only one"),
        ("redis+cluster://a?ssl_cert_reqs=none", "begin it with rediss://"),
    ],
)
def test_a_wrong_address_is_refused_with_the_rule_it_breaks(url: str, rule: str) -> None:
    with pytest.raises(UnusableAddress, match=rule):
        check_redis(url)


@pytest.mark.parametrize("url", ["redis://a:6379/0", "rediss://a", "unix:///run/redis.sock"])
def test_any_other_address_is_of_one_server(url: str) -> None:
    assert sentinel_address(url) is None


@given(st.text())
def test_no_text_is_read_as_anything_but_an_address_or_refused(text: str) -> None:
    try:
        address = sentinel_address(f"redis+sentinel://{text}")
    except ValueError as error:
        assert len(text) < 8 or text not in str(error)
    else:
        assert address is not None
        assert address.sentinels


@pytest.mark.parametrize(
    ("url", "servers", "first"),
    [
        (
            "redis+cluster://a,b:7000,[::1]:1",
            (("a", 6379), ("b", 7000), ("::1", 1)),
            "redis://a:6379/0",
        ),
        (
            "rediss+cluster://user:p%40{}@[::1]/0?ssl_cert_reqs=none",
            (("::1", 6379),),
            "rediss://user:p%40{}@[::1]:6379/0?ssl_cert_reqs=none",
        ),
    ],
)
def test_an_address_of_a_cluster_is_split_into_its_parts(
    url: str, servers: tuple[tuple[str, int], ...], first: str
) -> None:
    address = cluster_address(url)
    assert address is not None
    assert address.servers == servers
    assert address.server_url(*servers[0]) == first
    check_redis(url)
