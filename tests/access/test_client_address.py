"""The client's address behind proxies, which no client can forge."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.access.client_address import ClientAddress

NETWORKS = "10.0.0.0/8, fd00::/8,192.0.2.1"


@pytest.mark.parametrize("trusted", ["", "0"])
@pytest.mark.parametrize("forwarded_for", [[], ["1.1.1.1"], ["1.1.1.1, 2.2.2.2", "3.3.3.3"]])
def test_the_client_is_the_peer_if_no_proxy_is_trusted(
    trusted: str, forwarded_for: list[str]
) -> None:
    assert ClientAddress(trusted).find("8.8.8.8", forwarded_for) == "8.8.8.8"


@pytest.mark.parametrize(
    ("hops", "forwarded_for", "client"),
    [
        ("1", [], "8.8.8.8"),
        ("1", ["6.6.6.6, 1.1.1.1"], "1.1.1.1"),
        ("1", ["6.6.6.6", "1.1.1.1"], "1.1.1.1"),
        ("2", ["6.6.6.6, 1.1.1.1, 10.0.0.1"], "1.1.1.1"),
        ("2", ["1.1.1.1"], "1.1.1.1"),
        ("3", ["1.1.1.1, 2.2.2.2, 3.3.3.3, 4.4.4.4"], "2.2.2.2"),
        ("1", ["  1.1.1.1  "], "1.1.1.1"),
        ("1", ["1.1.1.1:8080"], "1.1.1.1"),
        ("1", ["2001:DB8:0:0::1"], "2001:db8::1"),
        ("1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("1", ["::ffff:1.1.1.1"], "1.1.1.1"),
        ("1", ['"[2001:db8::1]:4711"'], "2001:db8::1"),
        ("1", ['6.6.6.6, "1.1.1.1:80"'], "1.1.1.1"),
        ("1", ['"1.1.1.1'], "8.8.8.8"),
        ("1", ["1.1.1.1, _hidden"], "8.8.8.8"),
        ("1", ["1.1.1.1,"], "1.1.1.1"),
        ("1", ["6.6.6.6, 1.1.1.1 , ,"], "1.1.1.1"),
        ("1", [","], "8.8.8.8"),
        ("2", ["6.6.6.6, , 1.1.1.1"], "1.1.1.1"),
        ("2", ["1.1.1.1, garbage, 10.0.0.1"], "10.0.0.1"),
        ("1", ["999.1.1.1"], "8.8.8.8"),
        ("1", ["\uff11.1.1.1"], "8.8.8.8"),
    ],
)
def test_a_number_of_hops_is_read_from_the_right(
    hops: str, forwarded_for: list[str], client: str
) -> None:
    assert ClientAddress(hops).find("8.8.8.8", forwarded_for) == client


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("8.8.8.8", ["1.1.1.1"], "8.8.8.8"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["6.6.6.6, 1.1.1.1"], "1.1.1.1"),
        ("10.0.0.1", ["10.6.6.6, 1.1.1.1"], "1.1.1.1"),
        ("10.0.0.1", ["1.1.1.1", "10.0.0.3, 10.0.0.2"], "1.1.1.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["1.1.1.1, 192.0.2.2"], "192.0.2.2"),
        ("fd00::1", ["2001:db8::1"], "2001:db8::1"),
        ("fd00::1", ["1.1.1.1, fd12::2"], "1.1.1.1"),
        ("::ffff:10.0.0.1", ["1.1.1.1"], "1.1.1.1"),
        ("10.0.0.1", ["1.1.1.1, ::ffff:10.0.0.2"], "1.1.1.1"),
        ("10.0.0.1", ["1.1.1.1, 10.0.0.2:5000"], "1.1.1.1"),
        ("10.0.0.1", ["1.1.1.1, garbage"], "10.0.0.1"),
        ("", ["1.1.1.1"], ""),
    ],
)
def test_the_rightmost_hop_outside_trusted_networks_is_the_client(
    peer: str, forwarded_for: list[str], client: str
) -> None:
    assert ClientAddress(NETWORKS).find(peer, forwarded_for) == client


HOPS = st.one_of(
    st.ip_addresses().map(str),
    st.text(st.characters(max_codepoint=255), max_size=20),
    st.sampled_from(["", "[", "[]", ":", "1.1.1.1:", "[::1", "fe80::1%eth0", "unknown"]),
)


@given(st.lists(HOPS), st.sampled_from(["1", "2", NETWORKS]))
def test_the_client_is_an_address_whatever_is_forwarded(hops: list[str], trusted: str) -> None:
    assert ip_address(ClientAddress(trusted).find("10.0.0.1", hops))


@given(st.lists(HOPS))
def test_a_forged_header_changes_nothing_behind_one_proxy(hops: list[str]) -> None:
    for trusted in ("1", NETWORKS):
        forwarded_for = [*hops, "1.1.1.1"]
        assert ClientAddress(trusted).find("10.0.0.1", forwarded_for) == "1.1.1.1"
