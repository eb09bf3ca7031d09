"""`/api/domains`: add, list, verify and delete custom domains."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.resource import Resource, record_of
from tracker.api.schema import AccountId, AccountPage, Done, Page, Timestamp
from tracker.api.services import Services
from tracker.errors import BadRequest
from tracker.links.domain import QUARANTINE, Domain
from tracker.links.hostnames import checked_name
from tracker.links.verification import Verification, is_proven, verification

DomainName = Annotated[
    str,
    Meta(
        description="hostname of at least two labels; international names become punycode",
        extra_json_schema={"minLength": 1, "format": "idn-hostname"},
        examples=["go.example.com"],
    ),
]


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


class AddDomain(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The custom domain to claim."""

    account_id: AccountId = field(name="accountId")
    domain_name: DomainName

    def __post_init__(self) -> None:
        self.domain_name = checked_name(self.domain_name)


async def _check_new(services: Services, body: AddDomain) -> None:
    _check_name(services, body.domain_name)


def _check_name(services: Services, name: str) -> None:
    """Raise BadRequest if no account may claim `name`."""
    if name == services.public_url.host:
        raise BadRequest("domain_name: must not be the host of this service")
    if services.own_hosts.reserves(name):
        raise BadRequest("domain_name: reserved by the operator of this service")


async def _show(services: Services, domains: Sequence[Domain]) -> list[DomainRecord]:
    return [
        record_of(DomainRecord, one, verification=_required_records(services, one))
        for one in domains
    ]


DOMAINS: Resource[Domain, DomainRecord] = Resource(
    "domain", lambda call: call.services.domains.find(call.ids[0]), _show
)


async def add(call: Call[Nothing, AddDomain]) -> DomainRecord:
    """Claim a hostname for the account. Raises BadRequest if another account has proven it."""
    domain = await call.services.domains.create(call.account_id, call.body.domain_name)
    return await DOMAINS.show(call, domain)


async def verify(call: Call[Nothing, Nothing]) -> DomainRecord:
    """Prove the domain by DNS, and return it. It stays proven until it is deleted.

    Raises NotFound or Forbidden if the account has no such domain, BadRequest if DNS does not prove
    it, RateLimited or Unavailable if too many look-ups are in progress.
    """
    services, domain = call.services, await DOMAINS.own(call)
    _check_name(services, domain.domain_name)  # it may have become reserved since it was claimed
    if not domain.verified:
        required = _required_records(services, domain)
        with services.dns_limiter.acquire(call.account_id):
            proven = await is_proven(required, services.settings.dns_address)
        if not proven:
            raise BadRequest(_not_proven_message(required))
        domain = await services.domains.verify(domain.id)
    return await DOMAINS.show(call, domain)


async def delete(call: Call[Nothing, Nothing]) -> Done:
    """Delete a custom domain.

    Raises NotFound or Forbidden if the account has no such domain, BadRequest if links use it.
    """
    domain = await DOMAINS.own(call)
    if await call.services.links.has_links(domain.id):
        raise BadRequest("domain_name: short links use it; archive them first")
    await call.services.domains.delete(domain.id)
    return Done()


def _required_records(services: Services, domain: Domain) -> Verification:
    return verification(domain, services.own_hosts.cname_target(domain.account_id))


def _not_proven_message(required: Verification) -> str:
    txt = f"a TXT record {required.txt.name} with the value {required.txt.value}"
    if required.cname is None:
        return f"domain_name: DNS does not have {txt}"
    cname = f"a CNAME record {required.cname.name} with the value {required.cname.value}"
    return f"domain_name: DNS has neither {txt} nor {cname}"


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/domains",
        "domains:read",
        DOMAINS.lister(lambda services: services.domains),
        "List custom domains, newest first",
        Page[DomainRecord],
        query=AccountPage,
    ),
    Endpoint(
        "POST",
        "/api/domains",
        "domains:write",
        add,
        "Add a custom domain; several accounts may claim a name until one proves it",
        DomainRecord,
        body=AddDomain,
        check=_check_new,
        example={"domain_name": "go.example.com"},
    ),
    Endpoint(
        "POST",
        "/api/domains/{id}/verify",
        "domains:write",
        verify,
        "Look in DNS for one of the records that prove a domain; other accounts' claims to it end",
        DomainRecord,
    ),
    Endpoint(
        "DELETE",
        "/api/domains/{id}",
        "domains:write",
        delete,
        "Delete a custom domain that no short link uses; archived links do not count. No other "
        f"account can claim a proven name for {QUARANTINE.days} days",
        Done,
    ),
)
