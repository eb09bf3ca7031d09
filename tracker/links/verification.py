"""Proof that an account owns a domain, by either of two DNS records.

A CNAME to the base host proves nothing: a previous owner may have left it.

Guarantee: a look-up returns within TIMEOUT_SECONDS, with text of limited length.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from dns.asyncresolver import Resolver
from dns.exception import DNSException
from dns.rdata import Rdata
from dns.resolver import NXDOMAIN, NoAnswer

from tracker.clock import now
from tracker.dns.resolver import make_resolver
from tracker.links.domain import DnsCheck, Domain

TIMEOUT_SECONDS: Final = 4.5
"""The time limit of a look-up, with all queries and retries."""

MAX_STORED_VALUES: Final = 10
MAX_STORED_CHARACTERS: Final = 255
"""A check stores ten values, each as long as a string of a TXT record."""


class DnsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A DNS record that the owner adds."""

    name: str
    value: str


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The two records that prove a domain; either is enough.

    The TXT record is for names that cannot have a CNAME, such as example.com itself. `cname` is
    None if the service has no hostname.
    """

    txt: DnsRecord
    cname: DnsRecord | None


def verification(domain: Domain, cname_target: str | None) -> Verification:
    """Return the records that prove `domain`. `cname_target` is its account's hostname here."""
    name = domain.domain_name
    return Verification(
        txt=DnsRecord(name=f"_tracker.{name}", value=f"tracker-verification={domain.token}"),
        cname=DnsRecord(name=name, value=cname_target) if cname_target else None,
    )


async def look_up(wanted: Verification, dns_address: tuple[str, int] | None) -> DnsCheck:
    """Look up the records in DNS. `dns_address` is the name server; None: the system's."""
    expected = {"TXT": wanted.txt} | ({"CNAME": wanted.cname} if wanted.cname else {})
    try:
        resolver = make_resolver(dns_address)
        queries = [_values(resolver, kind, one.name) for kind, one in expected.items()]
        answers = dict(zip(expected, await asyncio.gather(*queries), strict=True))
    except DNSException:  # the system names no server
        answers = dict.fromkeys(expected)
    unanswered = [one.name for kind, one in expected.items() if answers[kind] is None]
    return DnsCheck(
        at=now(),
        txt=_truncated(answers["TXT"]),
        cname=_truncated(answers.get("CNAME")),
        proven=any(one.value in (answers[kind] or ()) for kind, one in expected.items()),
        error=f"no answer for {' and '.join(unanswered)}" if unanswered else None,
    )


async def _values(resolver: Resolver, kind: str, name: str) -> list[str] | None:
    """Return the values of a name's records of type `kind`; None if DNS does not answer."""
    try:
        # The resolver's `lifetime` does not cover its pauses between attempts.
        async with asyncio.timeout(TIMEOUT_SECONDS):
            answer = await resolver.resolve(f"{name}.", kind, lifetime=TIMEOUT_SECONDS)
    except (NXDOMAIN, NoAnswer):
        return []
    except (DNSException, TimeoutError, OSError):
        return None
    return [_text(record) if kind == "TXT" else _cname(record) for record in answer]


def _text(record: Rdata) -> str:
    return b"".join(record.strings).decode(errors="replace")  # type: ignore[attr-defined]


def _cname(record: Rdata) -> str:
    return str(record.target.to_text(omit_final_dot=True)).lower()  # type: ignore[attr-defined]


def _truncated(values: Sequence[str] | None) -> list[str]:
    return [value[:MAX_STORED_CHARACTERS] for value in (values or ())[:MAX_STORED_VALUES]]
