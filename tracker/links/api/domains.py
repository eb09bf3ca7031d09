"""`/api/domains`: add, list, change, verify and delete custom domains."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final
from uuid import UUID
from zlib import crc32

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.access.audit import differences
from tracker.errors import BadRequest, Unavailable
from tracker.links.domain import FILES, QUARANTINE, URLS, DnsCheck, Domain
from tracker.links.hostnames import checked_hostname
from tracker.links.services import LinkCall, LinkServices
from tracker.links.verification import Verification, look_up, verification
from tracker.stores.mongodb.transaction import MongoSession
from tracker.syntax.invisible import check_visible, stripped
from tracker.syntax.strict_json import parse_json
from tracker.syntax.url import check_url, split_url
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_BULK_BODY_BYTES, MAX_URL_CHARACTERS
from tracker.web.resource import Resource, record_of
from tracker.web.schema import AccountId, AccountPage, Done, Page, Timestamp, sent_fields

endpoint = Endpoints("links")

MAX_FILE_BYTES: Final = 64 * 1024

_FILE_RULES: Final = (
    ("apple_app_site_association", dict, "must be a JSON object"),
    ("assetlinks", list, "must be a JSON list"),
)

DomainName = Annotated[
    str,
    Meta(
        description="hostname of at least two labels; international names become punycode",
        extra_json_schema={"minLength": 1, "format": "idn-hostname"},
        examples=["go.example.com"],
    ),
]

VisitorUrl = Annotated[
    str,
    Meta(
        description="where visitors are redirected whom no link takes elsewhere; null: 404",
        extra_json_schema={"maxLength": MAX_URL_CHARACTERS},
    ),
]
AppText = Annotated[
    str, Meta(description=f"JSON of at most {MAX_FILE_BYTES:,} bytes, served as it is sent")
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
    case_sensitive: bool
    root_url: VisitorUrl | None
    not_found_url: VisitorUrl | None
    expired_url: VisitorUrl | None
    has_apple_app_site_association: bool
    has_assetlinks: bool


class WholeDomain(DomainRecord, kw_only=True):
    """A custom domain with its texts for apps, which lists leave out."""

    apple_app_site_association: AppText | None
    assetlinks: AppText | None


class AddDomain(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The custom domain to claim."""

    account_id: AccountId = field(name="accountId")
    domain_name: DomainName

    def __post_init__(self) -> None:
        self.domain_name = checked_hostname(self.domain_name)


class ChangeDomain(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The settings of a domain to change. Omitted ones stay."""

    case_sensitive: bool | UnsetType = UNSET
    root_url: VisitorUrl | UnsetType | None = UNSET
    not_found_url: VisitorUrl | UnsetType | None = UNSET
    expired_url: VisitorUrl | UnsetType | None = UNSET
    apple_app_site_association: AppText | UnsetType | None = UNSET
    assetlinks: AppText | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        for name in URLS:
            if isinstance(url := getattr(self, name), str):
                setattr(self, name, url := stripped(url))
                check_visible(name, url)
                check_url(name, url)
        for name, kind, rule in _FILE_RULES:
            if isinstance(text := getattr(self, name), str):
                if len(text.encode()) > MAX_FILE_BYTES:
                    raise BadRequest(f"{name}: at most {MAX_FILE_BYTES:,} bytes")
                if not isinstance(parse_json(name, text.encode()), kind):
                    raise BadRequest(f"{name}: {rule}")


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
            has_apple_app_site_association=bool(one.apple_app_site_association),
            has_assetlinks=bool(one.assetlinks),
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


@endpoint("GET", "/api/domains/{id}", "domains:read")
async def get(call: LinkCall[Nothing, Nothing]) -> WholeDomain:
    """Show a custom domain, with its texts for apps."""
    domain = await DOMAINS.find(call)
    texts = {name: getattr(domain, name) for name in FILES}
    return WholeDomain(**msgspec.structs.asdict(await DOMAINS.show(call, domain)), **texts)


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


@endpoint(
    "PATCH",
    "/api/domains/{id}",
    "domains:write",
    example={"not_found_url": "https://example.com/lost"},
    body_bytes=MAX_BULK_BODY_BYTES,
)
async def change(call: LinkCall[Nothing, ChangeDomain]) -> DomainRecord:
    """Change the settings of a custom domain."""
    domain, settings = await DOMAINS.find(call), sent_fields(call.body)
    for name in URLS:
        if isinstance(url := settings.get(name), str):
            await _check_leads_away(call.services, domain, name, url)

    async def check_and_audit(session: MongoSession, before: Domain, after: Domain) -> None:
        if not after.case_sensitive and not after.folds:
            raise Unavailable("case_sensitive: changed by another request; try again")
        of = _without_texts(before), _without_texts(after)
        if changes := differences(*of, without=["folds"]):
            await call.audit("domain.changed", DOMAINS.audit_object(after), changes, session)

    if settings.get("case_sensitive"):
        settings["folds"] = False
    elif "case_sensitive" in settings and domain.case_sensitive:
        await call.services.folding.fold(domain.account_id, domain.id)
    if settings:
        domain = await call.services.domains.change(domain.id, settings, check_and_audit)
    return await DOMAINS.show(call, domain)


def _without_texts(domain: Domain) -> Domain:
    """Return the domain as the audit log compares it: texts for apps are told apart, not shown."""
    texts = {name: getattr(domain, name) for name in FILES}
    shown = {name: f"text {crc32(text.encode()):08x}" for name, text in texts.items() if text}
    return msgspec.structs.replace(domain, **shown)


async def _check_leads_away(services: LinkServices, domain: Domain, field: str, url: str) -> None:
    """Raises BadRequest if `url` is served here: such redirects could lead to each other."""
    host, port = split_url(field, url).address
    if host == domain.domain_name or await services.served_hosts.has(host, port):
        raise BadRequest(f"{field}: must not be on a host of this service")


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
