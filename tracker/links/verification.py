"""The proof by DNS that a domain belongs to its account.

Either of two records is a proof: a TXT record with a value that only this claim has, or a CNAME
record to the hostname that only its account has here. A CNAME to the base host proves nothing: it
may be left over from a previous owner.

Guarantee: an answer, or Unavailable, within TIMEOUT_SECONDS.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
from dns.asyncresolver import Resolver
from dns.exception import DNSException
from dns.rdata import Rdata
from dns.resolver import NXDOMAIN, NoAnswer

from tracker.dns.resolver import make_resolver
from tracker.errors import Unavailable
from tracker.links.domain import Domain

TIMEOUT_SECONDS: Final = 4.5
"""The time limit of one proof, with all queries and their repetitions."""


class DnsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record that an account adds to its DNS."""

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
    """Return the records that prove `domain`.

    `cname_target` is the hostname of its account here (`OwnHosts.cname_target`).
    """
    name = domain.domain_name
    return Verification(
        txt=DnsRecord(name=f"_tracker.{name}", value=f"tracker-verification={domain.token}"),
        cname=DnsRecord(name=name, value=cname_target) if cname_target else None,
    )


async def is_proven(wanted: Verification, dns_address: tuple[str, int] | None) -> bool:
    """Return whether DNS has one of the records.

    It queries the name server at `dns_address`; None: those of the system.

    Raises Unavailable if none was found and a query got no answer.
    """
    try:
        resolver = make_resolver(dns_address)
    except DNSException:
        raise _no_answer(wanted) from None
    queries = [_has(resolver, "TXT", wanted.txt, _text)]
    if wanted.cname is not None:
        queries.append(_has(resolver, "CNAME", wanted.cname, _target))
    answers = await asyncio.gather(*queries)
    if True not in answers and None in answers:
        raise _no_answer(wanted)
    return True in answers


async def _has(
    resolver: Resolver, kind: str, wanted: DnsRecord, value: Callable[[Rdata], str]
) -> bool | None:
    """Return whether DNS has the record; None if it does not answer."""
    try:
        # The resolver's own limit does not cover its pauses between attempts.
        async with asyncio.timeout(TIMEOUT_SECONDS):
            answer = await resolver.resolve(f"{wanted.name}.", kind, lifetime=TIMEOUT_SECONDS)
    except (NXDOMAIN, NoAnswer):
        return False
    except (DNSException, TimeoutError, OSError):
        return None
    return any(value(record) == wanted.value for record in answer)


def _text(record: Rdata) -> str:
    """Return the text of a TXT record, which holds it in pieces."""
    return b"".join(record.strings).decode(errors="replace")  # type: ignore[attr-defined]


def _target(record: Rdata) -> str:
    return str(record.target.to_text(omit_final_dot=True)).lower()  # type: ignore[attr-defined]


def _no_answer(wanted: Verification) -> Unavailable:
    return Unavailable(f"DNS: no answer for {wanted.txt.name}; try again")
