"""`/api/imports/{id}/cut-over-check`: whether printed paths answer as before, and what DNS says."""

import asyncio
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tracker.clock import now
from tracker.dns.resolver import DnsFailed
from tracker.errors import NotFound
from tracker.imports.api.imports import IMPORTS, act_on
from tracker.imports.api.schema import ImportRecord
from tracker.imports.services import ImportCall, ImportServices
from tracker.imports.store import CutOver
from tracker.links.domain import Domain
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import record_of
from tracker.web.schema import Timestamp

endpoint = Endpoints("imports")

MAX_SHOWN_DOMAINS: Final = 20


class DomainInDns(msgspec.Struct, kw_only=True):
    """Whether a domain with imported links points here now."""

    domain_name: str
    verified: bool
    points_here: bool
    to_change: Annotated[str | None, Meta(description="the record to add; null: none")]


class CutOverRecord(msgspec.Struct, kw_only=True):
    """A check of a cut-over. `GET …/rows?differing=true` lists the differences."""

    at: Timestamp
    is_complete: Annotated[bool, Meta(description="false: it is under way")]
    paths: Annotated[int, Meta(description="printed paths that were asked")]
    same: Annotated[int, Meta(description="those that answer as at the source")]
    differ: int
    domains: Annotated[
        list[DomainInDns], Meta(description=f"the first {MAX_SHOWN_DOMAINS} with imported links")
    ]


@endpoint(
    "POST",
    "/api/imports/{id}/cut-over-check",
    "links:write",
    operation_id="startImportCutOverCheck",
)
async def begin(call: ImportCall[Nothing, Nothing]) -> ImportRecord:
    """Ask every imported path, and compare the answer with the source's. Nothing is recorded."""
    return await act_on(call, "compare", {"cut_over": msgspec.structs.asdict(CutOver(at=now()))})


@endpoint("GET", "/api/imports/{id}/cut-over-check", "links:read")
async def show(call: ImportCall[Nothing, Nothing]) -> CutOverRecord:
    """Show the last check of a cut-over, with what DNS says now. Raises NotFound before it."""
    services, found = call.services, (await IMPORTS.find(call)).cut_over
    if found is None:
        raise NotFound("cut-over check: none was begun")
    shown = [await services.links.domains.find(one) for one in found.domains[:MAX_SHOWN_DOMAINS]]
    with services.links.dns_limiter.acquire(call.account_id):
        here = await _addresses(services, services.links.public_url.host)
        domains = await asyncio.gather(*(_in_dns(services, one, here) for one in shown if one))
    same = found.paths - found.differ
    return record_of(CutOverRecord, found, same=same, domains=domains)


async def _addresses(services: ImportServices, name: str) -> set[str]:
    try:
        return {*await services.dns.resolve(name)}
    except DnsFailed:
        return set()


async def _in_dns(services: ImportServices, domain: Domain, here: set[str]) -> DomainInDns:
    points_here = bool(here & await _addresses(services, domain.domain_name))
    target = services.links.own_hosts.cname_target(domain.account_id)
    host = services.links.public_url.host
    wanted = f"{domain.domain_name} CNAME {target}, or the addresses of {host}"
    to_change = None if points_here else wanted
    return record_of(DomainInDns, domain, points_here=points_here, to_change=to_change)
