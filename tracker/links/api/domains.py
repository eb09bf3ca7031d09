"""`/api/domains`: add, list, verify and delete custom domains."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.errors import BadRequest, Unavailable
from tracker.links.domain import QUARANTINE, DnsCheck, Domain
from tracker.links.hostnames import checked_hostname
from tracker.links.services import LinkCall, LinkServices
from tracker.links.verification import Verification, look_up, verification
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import Resource, record_of
from tracker.web.schema import AccountId, AccountPage, Done, Page, Timestamp

endpoint = Endpoints("links")

DomainName = Annotated[
    str,
    Meta(
        description="hostname of at least two labels; international names become punycode",
        extra_json_schema={"minLength": 1, "format": "idn-hostname"},
        examples=["go.example.com"],
    ),
]


class DnsCheckRecord(msgspec.Struct, kw_only=True):
    """A look-up in DNS of the records that prove a domain."""

    at: Timestamp
    txt: Annotated[list[str], Meta(description="values of the TXT records")]
    cname: Annotated[list[str], Meta(description="targets of the CNAME record")]
    proven: bool
    error: Annotated[str | None, Meta(description="the queries without an answer")]


class DomainRecord(msgspec.Struct, kw_only=True):
    """A custom domain, and the DNS records that prove it."""

    id: UUID
    account_id: UUID
    domain_name: str
    verified: bool
    created_at: Timestamp
    verification: Annotated[
        Verification,
        Meta(
            description="DNS records, either of which proves that the domain is yours; use TXT for "
            "names that cannot have a CNAME, such as example.com itself"
        ),
    ]
    links: Annotated[int, Meta(ge=0, description="short links on it; no archived ones")]
    last_check: Annotated[
        DnsCheckRecord | None, Meta(description="the last look-up; null: none yet")
    ]


class AddDomain(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The custom domain to claim."""

    account_id: AccountId = field(name="accountId")
    domain_name: DomainName

    def __post_init__(self) -> None:
        self.domain_name = checked_hostname(self.domain_name)


async def _check_new(services: LinkServices, body: AddDomain) -> None:
    _check_name(services, body.domain_name)


def _check_name(services: LinkServices, name: str) -> None:
    """Check that an account may claim `name`. Raises BadRequest if none may."""
    if name == services.public_url.host:
        raise BadRequest("domain_name: must not be the host of this service")
    if services.own_hosts.is_reserved(name):
        raise BadRequest("domain_name: reserved by the operator of this service")


async def _show(services: LinkServices, domains: Sequence[Domain]) -> list[DomainRecord]:
    counts = await services.links.count_by_domain([one.id for one in domains])
    return [
        record_of(
            DomainRecord,
            one,
            verification=_required_records(services, one),
            links=counts.get(one.id, 0),
            last_check=one.last_check and record_of(DnsCheckRecord, one.last_check),
        )
        for one in domains
    ]


DOMAINS: Resource[Domain, DomainRecord] = Resource(
    "domain", lambda call: call.services.domains.find(call.ids[0]), _show, "domain_name"
)


@endpoint("GET", "/api/domains", "domains:read")
async def list_own(call: LinkCall[AccountPage, Nothing]) -> Page[DomainRecord]:
    """List custom domains, newest first."""
    async with call.services.long_lists.permit(call.account_id):
        return await DOMAINS.list_page(call, call.services.domains)


@endpoint(
    "POST",
    "/api/domains",
    "domains:write",
    check=_check_new,
    example={"domain_name": "go.example.com"},
)
async def add(call: LinkCall[Nothing, AddDomain]) -> DomainRecord:
    """Add a custom domain. Several accounts may claim a name until one proves it."""
    domain = await call.services.domains.create(call.account_id, call.body.domain_name)
    await call.audit("domain.added", DOMAINS.audit_object(domain))
    return await DOMAINS.show(call, domain)


@endpoint("POST", "/api/domains/{id}/verify", "domains:write")
async def verify(call: LinkCall[Nothing, Nothing]) -> DomainRecord:
    """Prove a domain by its DNS records. Other accounts' claims to it end.

    It stays proven until it is deleted. The result is stored in any case.
    """
    services, domain = call.services, await DOMAINS.find(call)
    _check_name(services, domain.domain_name)  # it may have become reserved since it was claimed
    required = _required_records(services, domain)
    with services.dns_limiter.acquire(call.account_id):
        check = await look_up(required, services.dns_address)
    domain = await services.domains.record_check(domain.id, check)
    if not domain.verified:
        if not check.proven:
            raise _not_proven(check, required)
        audit = partial(call.audit, "domain.verified", DOMAINS.audit_object(domain), None)
        domain = await services.domains.verify(domain.id, audit)
    return await DOMAINS.show(call, domain)


@endpoint(
    "DELETE",
    "/api/domains/{id}",
    "domains:write",
    summary="Delete a custom domain that no short link uses; archived links do not count. No other "
    f"account can claim a proven name for {QUARANTINE.days} days",
)
async def delete(call: LinkCall[Nothing, Nothing]) -> Done:
    """Delete a custom domain. Raises BadRequest if links use it."""
    domain = await DOMAINS.find(call)
    if await call.services.links.has_links(domain.id):
        raise BadRequest("domain_name: short links use it; archive them first")
    await call.services.domains.delete(domain.id)
    await call.audit("domain.deleted", DOMAINS.audit_object(domain))
    return Done()


def _required_records(services: LinkServices, domain: Domain) -> Verification:
    return verification(domain, services.own_hosts.cname_target(domain.account_id))


def _not_proven(check: DnsCheck, required: Verification) -> BadRequest | Unavailable:
    if check.error is not None:
        return Unavailable(f"DNS: {check.error}; try again")
    txt = f"a TXT record {required.txt.name} with the value {required.txt.value}"
    if required.cname is None:
        return BadRequest(f"domain_name: DNS does not have {txt}")
    cname = f"a CNAME record {required.cname.name} with the value {required.cname.value}"
    return BadRequest(f"domain_name: DNS has neither {txt} nor {cname}")
