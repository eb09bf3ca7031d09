"""The values of conditions, as visitors' are compared with them. Pure.

Each function raises BadRequest that says the rule, but not the field.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from ipaddress import IPv6Network, ip_network
from typing import Final

from tracker.errors import BadRequest
from tracker.links.hostnames import canonical_hostname
from tracker.visitor_dimensions import BROWSERS, DEVICES, SYSTEMS, UNKNOWN, country_name

_NO_COUNTRIES: Final = frozenset(
    ("AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ")
)
"""Codes with a name that no visitor has."""

_OTHER: Final = "Other"
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*", re.ASCII)
_DAILY: Final = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_ON_A_DAY: Final = "%Y-%m-%dT%H:%M"


def _country(text: str) -> str:
    code = text.upper()
    if country_name(code) == code or code in _NO_COUNTRIES:
        raise BadRequest("must be an ISO 3166-1 alpha-2 code such as DE")
    return code


def _one_of(names: Iterable[str]) -> Callable[[str], str]:
    by_form = {name.casefold(): name for name in sorted(names)}

    def named(text: str) -> str:
        if text.casefold() not in by_form:
            raise BadRequest(f"must be one of {', '.join(by_form.values())}")
        return by_form[text.casefold()]

    return named


def _language(text: str) -> str:
    if not _LANGUAGE.fullmatch(text):
        raise BadRequest("must be a language such as es or en-GB")
    return text


def _host(text: str) -> str:
    host = canonical_hostname(text)
    if not host:
        raise BadRequest("must be a host such as example.com, without scheme, port or path")
    return host


def _network(text: str) -> str:
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        network = None
    if network is None or "%" in text:
        raise BadRequest("must be an address or a network such as 192.0.2.0/24 or 2001:db8::/32")
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        mapped = network.network_address.ipv4_mapped
        return str(ip_network(f"{mapped}/{network.prefixlen - _MAPPED.prefixlen}"))
    return str(network)


CANONICAL: Final[Mapping[str, Callable[[str], str]]] = {
    "country": _country,
    "language": _language,
    "device": _one_of(one for one in DEVICES if one != UNKNOWN),
    "os": _one_of((*SYSTEMS, _OTHER)),
    "browser": _one_of((*BROWSERS, _OTHER)),
    "referrer": _host,
    "ip": _network,
}
"""By kind of condition, of those with a list of values."""


def is_daily(clock: str) -> bool:
    """Return whether a time is of each day. Raises BadRequest if it is none."""
    if _DAILY.fullmatch(clock):
        return True
    try:
        if datetime.strptime(clock, _ON_A_DAY).strftime(_ON_A_DAY) == clock:
            return False
    except ValueError:
        pass
    raise BadRequest("must be a time such as 09:00 or 2026-12-24T18:00")
