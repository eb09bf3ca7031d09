import pytest

from tracker.public_url import PublicUrl


@pytest.mark.parametrize(
    ("url", "host", "port", "expected"),
    [
        ("http://tracker.test", "tracker.test", 80, True),
        ("http://tracker.test", "tracker.test", 8080, False),
        ("http://tracker.test", "other.test", 80, False),
        ("https://tracker.test", "tracker.test", 80, True),
        ("https://tracker.test", "tracker.test", 8443, False),
        ("http://tracker.test.:8080/", "tracker.test", 8080, True),
        ("http://tracker.test:8080", "tracker.test", 80, False),
        ("http://localhost:8080", "127.0.0.1", 8080, True),
        ("http://localhost:8080", "127.0.0.1", 8081, False),
        ("http://tracker.test", "localhost", 80, False),
    ],
)
def test_an_address_is_the_services_on_the_port_of_either_scheme(
    url: str, host: str, port: int, expected: bool
) -> None:
    assert PublicUrl(url).is_at(host, port) is expected


@pytest.mark.parametrize(
    ("url", "origin", "other"),
    [
        ("http://Tracker.Test:80/", "http://tracker.test", "tracker.test:443"),
        ("https://tracker.test:443", "https://tracker.test", "tracker.test:80"),
        ("https://tracker.test:80", "https://tracker.test:80", "tracker.test"),
    ],
)
def test_an_origin_leaves_out_only_the_port_of_its_own_scheme(
    url: str, origin: str, other: str
) -> None:
    own = PublicUrl(url)
    assert own.web_origin == origin
    assert own.is_origin_of(origin.partition("://")[2].upper())
    assert not own.is_origin_of(other)


@pytest.mark.parametrize(
    ("domain_name", "origin"),
    [("", "https://tracker.test:8443"), ("go.example.com", "https://go.example.com")],
)
def test_links_are_at_their_domain_or_at_the_service(domain_name: str, origin: str) -> None:
    assert PublicUrl("https://tracker.test:8443/").origin(domain_name) == origin
