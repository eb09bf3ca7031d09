"""`/api/short-links/{id}/rules`: earlier rules of a link; `.../split`: its end."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from tracker.access.principal import Actor
from tracker.errors import NotFound
from tracker.links.api.rules.schema import RuleRecord, SplitRecord, rule_records, split_record
from tracker.links.api.short_link_changes import change_all
from tracker.links.api.short_link_record import WrittenShortLink, written
from tracker.links.api.short_links import LINKS, find_own
from tracker.links.link import Link
from tracker.links.rules.rule import Deciding
from tracker.links.rules.versions import MAX_VERSIONS, RuleVersion
from tracker.links.services import LinkCall
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import record_of
from tracker.web.schema import Page, Paged, Timestamp

endpoint = Endpoints("links")

EXAMPLE_VERSION: Final = 1_767_000_000_123
EXAMPLE_VARIANT: Final = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a2d"

_Version = Annotated[
    int, Meta(ge=1, le=2**53, description="of the link; see its list of earlier rules")
]


class RuleVersionRecord(msgspec.Struct, kw_only=True):
    """Earlier rules and splits of a link, and the change that replaced them."""

    version: _Version
    at: Timestamp
    actor: Annotated[Actor | None, Meta(description="who replaced them; null: an import")]
    destination_url: str
    rules: list[RuleRecord]
    split: SplitRecord | None


class RestoreRules(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The version of the rules to restore."""

    version: _Version


class EndSplit(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The variant that all visitors of its split get from now on."""

    variant_id: UUID


@endpoint(
    "GET",
    "/api/short-links/{id}/rules/history",
    "links:read",
    summary=f"List the last {MAX_VERSIONS} earlier rules of a short link, newest first",
    operation_id="listRuleVersions",
    limited=True,
)
async def list_versions(call: LinkCall[Paged, Nothing]) -> Page[RuleVersionRecord]:
    """List earlier rules and splits of a short link."""
    link, query = await find_own(call, call.services.links), call.query
    found, total = await call.services.rules.versions.find(
        {"link_id": link.id}, query.page, query.page_size, hint="by_link"
    )
    return query.page_of([_record(one) for one in found], total)


@endpoint(
    "POST",
    "/api/short-links/{id}/rules/restore",
    "links:write",
    example={"version": EXAMPLE_VERSION},
    operation_id="restoreRules",
    limited=True,
)
async def restore(call: LinkCall[Nothing, RestoreRules]) -> WrittenShortLink:
    """Give a short link the rules, split and destination of an earlier version.

    Raises NotFound if the link does not have this version.
    """
    link, version = await LINKS.find(call), call.body.version
    found = await call.services.rules.find(link.id, version)
    if found is None:
        raise NotFound(f"version: not found: {version}")
    fields = {name: getattr(found, name) for name in ("destination_url", "rules", "split")}
    return await _changed(call, link, lambda _: fields)


@endpoint(
    "POST",
    "/api/short-links/{id}/split/end",
    "links:write",
    example={"variant_id": EXAMPLE_VARIANT},
    operation_id="endSplit",
    limited=True,
)
async def end(call: LinkCall[Nothing, EndSplit]) -> WrittenShortLink:
    """End the split that has this variant, whose destination takes the place of the split."""
    variant_id = call.body.variant_id
    return await _changed(call, await LINKS.find(call), lambda stored: _ended(stored, variant_id))


def _ended(link: Link, variant_id: UUID) -> dict[str, Any]:
    for rule, split in Deciding(rules=link.rules, split=link.split).splits():
        url = next((one.destination_url for one in split.variants if one.id == variant_id), None)
        if url is not None and rule is None:
            return {"destination_url": url, "split": None}
        if url is not None:
            ended = [
                replace(one, destination_url=url, split=None) if one is rule else one
                for one in link.rules
            ]
            return {"rules": ended}
    raise NotFound(f"variant_id: not found: {variant_id}")


async def _changed(
    call: LinkCall[Any, Any], link: Link, fields_of: Callable[[Link], Mapping[str, Any]]
) -> WrittenShortLink:
    def fields(stored: Link) -> Mapping[str, Any]:
        return fields_of(LINKS.checked(call, stored))  # perhaps archived in the meantime

    [changed] = await change_all(call, [link], fields)
    return written(await LINKS.show(call, changed), changed)


def _record(version: RuleVersion) -> RuleVersionRecord:
    split = version.split and split_record(version.split)
    return record_of(RuleVersionRecord, version, rules=rule_records(version.rules), split=split)
