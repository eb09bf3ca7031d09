"""`/api/short-links`: change, archive and restore a link, and change many at once, all or none."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from tracker.access.audit import AuditAction, FieldChange, differences
from tracker.errors import BadRequest, ChangedMeanwhile
from tracker.links import destination
from tracker.links.api.option_schema import fields_of, rule_fields
from tracker.links.api.rules.checks import check_size
from tracker.links.api.short_link_record import ShortLink, WrittenShortLink, written
from tracker.links.api.short_link_schema import (
    EXAMPLE_LINK,
    ChangedShortLinks,
    ChangeShortLink,
    ChangeShortLinks,
    CreateShortLink,
)
from tracker.links.api.short_links import (
    LINKS,
    check_own,
    check_targets,
    create,
    find_own,
)
from tracker.links.link import Link, Revision
from tracker.links.macros import check_macros
from tracker.links.options import check_options
from tracker.links.rules.rule import Rule, Split
from tracker.links.services import LinkCall
from tracker.stores.mongodb.transaction import MongoSession
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_BULK_LINKS, MAX_TAGS
from tracker.web.schema import Done

endpoint = Endpoints("links")

_RESTORED: Final = "short_link.restored"


@endpoint(
    "PATCH",
    "/api/short-links/{id}",
    "links:write",
    check=check_targets,
    example={"active": False},
    limited=True,
    versioned=True,
)
async def change(call: LinkCall[Nothing, ChangeShortLink]) -> WrittenShortLink:
    """Change a short link."""
    link = await LINKS.find(call)
    return await _changed(call, link, await fields_of(call.body, call.services.passwords))


@endpoint(
    "PUT",
    "/api/short-links/external/{external_id}",
    "links:write",
    check=check_targets,
    example={"destination_url": "https://example.com/offer"},
    operation_id="putShortLink",
    versioned=True,
)
async def put(call: LinkCall[Nothing, CreateShortLink]) -> WrittenShortLink:
    """Create the short link with this external id, or change what the body has.

    Raises BadRequest if it is archived, or its slug or domain would change.
    """
    body, [external_id] = call.body, call.external_ids
    if body.external_id not in (UNSET, external_id):
        raise BadRequest("external_id: must be the one in the path")
    body.external_id = external_id
    link = await call.services.links.by_external_id(call.account_id, external_id)
    if link is None:
        call.precondition.check(None)
        try:
            return await create(call)
        except BadRequest:
            link = await call.services.links.by_external_id(call.account_id, external_id)
            if link is None:
                raise
    if link.archived:
        raise BadRequest(f"external_id: short link {link.id} is archived; restore it first")
    # A program may put the same each night, which would end all passes.
    fields = await fields_of(body, call.services.passwords, link.password_hash)
    fields = {name: fields[name] for name in fields.keys() & {*call.sent, "password_hash"}}
    for name in ("slug", "domain_id"):
        if fields.pop(name, None) not in (None, getattr(link, name)):
            raise BadRequest(f"{name}: cannot be changed; short link {link.id} has another")
    if fields.get("internal_name", "") is None:
        del fields["internal_name"]
    return await _changed(call, link, fields)


async def _changed(
    call: LinkCall[Any, Any], link: Link, fields: Mapping[str, Any]
) -> WrittenShortLink:
    url = fields.get("destination_url", link.destination_url)
    if url != link.destination_url:  # a stored one may be older than this rule
        check_macros(destination.DESTINATION_FIELD, url)
    tag_ids = fields.get("tags", [])
    tags = await call.services.tags.find(tag_ids)
    check_own(call, [("tags", tag_id, tags.get(tag_id)) for tag_id in tag_ids])
    if "tags" in fields:
        call.principal.check_tags(tag_ids)
    if fields.keys() & {"rules", "split"}:
        fields = {**fields, **rule_fields(call.body, await call.services.rules.known(link))}
        check_size(*(fields.get(name, getattr(link, name)) for name in ("rules", "split")))
    call.precondition.check(link.revision)
    changed = link
    if fields:
        within = partial(_meanwhile, call, fields)
        changed = await call.services.links.change(link.id, within, call.principal.actor)
    if changes := await _changes(call, link, changed):
        await call.audit("short_link.changed", LINKS.audit_object(changed), changes)
    return written(await LINKS.show(call, changed), changed)


def _meanwhile(
    call: LinkCall[Any, Any], fields: Mapping[str, Any], stored: Link
) -> Mapping[str, Any]:
    """Return the fields to set on the link as it is stored. Tags that nobody here sees stay.

    Raises ChangedMeanwhile, NotFound outside of a limit, BadRequest for too many tags.
    """
    call.precondition.check(stored.revision)
    call.check_owner("short link", stored)
    if (limit := call.principal.tags) is None or "tags" not in fields:
        return fields
    tags = [*(one for one in stored.tags if one not in limit), *fields["tags"]]
    if len(tags) > MAX_TAGS:
        raise BadRequest(f"tags: at most {MAX_TAGS}, with those that you do not see")
    return {**fields, "tags": tags}


@endpoint("DELETE", "/api/short-links/{id}", "links:write", limited=True, versioned=True)
async def archive(call: LinkCall[Nothing, Nothing]) -> Done:
    """Archive a short link. Its redirect stops, its reports stay."""
    link = await LINKS.find(call)
    meanwhile = partial(_meanwhile, call, {"archived": True})
    archived = await call.services.links.change(link.id, meanwhile)
    changes = await _changes(call, link, archived)
    await call.audit("short_link.archived", LINKS.audit_object(link), changes)
    return Done()


@endpoint(
    "PATCH",
    "/api/short-links/bulk",
    "links:write",
    summary=f"Change, archive or restore up to {MAX_BULK_LINKS} short links, all or none",
    check=check_targets,
    example={"ids": [EXAMPLE_LINK], "active": False},
    limited=True,
)
async def change_many(call: LinkCall[Nothing, ChangeShortLinks]) -> ChangedShortLinks:
    """Change several links, all or none."""
    body, services = call.body, call.services
    links = await services.links.find_all(body.ids)
    tags = await services.tags.find({*body.add_tags, *body.remove_tags})
    check_own(
        call,
        [
            *(("ids", link_id, links.get(link_id)) for link_id in body.ids),
            *(("add_tags", tag_id, tags.get(tag_id)) for tag_id in body.add_tags),
            *(("remove_tags", tag_id, tags.get(tag_id)) for tag_id in body.remove_tags),
        ],
    )
    fields = await fields_of(body, services.passwords)
    expected = dict(zip(body.ids, body.revisions, strict=False))

    def fields_for(link: Link) -> Mapping[str, Any]:
        if expected.get(link.id, link.revision) != link.revision:
            raise ChangedMeanwhile(f"revisions: short link {link.id} has another by now")
        return _fields(call, fields, link)

    changed = await change_all(call, [links[one] for one in body.ids], fields_for)
    return ChangedShortLinks(rows=await LINKS.show_all(call, changed))


@endpoint("POST", "/api/short-links/{id}/restore", "links:write", limited=True)
async def restore(call: LinkCall[Nothing, Nothing]) -> ShortLink:
    """Restore an archived short link. Others stay unchanged."""
    [link] = await change_all(
        call, [await find_own(call, call.services.links)], lambda _: {"archived": False}
    )
    return await LINKS.show(call, link)


def _fields(
    call: LinkCall[Nothing, ChangeShortLinks], sent: Mapping[str, Any], link: Link
) -> dict[str, Any]:
    """Return the fields to set in a link. Raises BadRequest that names it if it breaks a rule."""
    body = call.body
    kept = [tag_id for tag_id in link.tags if tag_id not in body.remove_tags]
    tags = list(dict.fromkeys([*kept, *body.add_tags]))
    if body.add_tags and len(tags) > MAX_TAGS:
        raise BadRequest(f"add_tags: at most {MAX_TAGS} tags for each link: {link.id}")
    call.principal.check_tags(tags, "remove_tags")
    fields = {name: one for name, one in sent.items() if hasattr(link, name)}
    try:
        check_options(replace(link, **fields))
    except BadRequest as error:
        raise BadRequest(f"{error.message}: short link {link.id}") from None
    return {**fields, "tags": tags}


async def change_all(
    call: LinkCall[Any, Any],
    links: Sequence[Link],
    fields_of: Callable[[Link], Mapping[str, Any]],
) -> list[Link]:
    """Change the links with their audit entries. Raises BadRequest as `_lock_domains` does."""

    async def check_and_audit(session: MongoSession, revisions: Sequence[Revision]) -> None:
        restored = [one.after for one in revisions if _action(one) == _RESTORED]
        await _lock_domains(call, restored, session)
        await call.audit_all([await _audit_action(call, one) for one in revisions], session)

    store, actor = call.services.links, call.principal.actor
    return await store.change_all(links, fields_of, check_and_audit, actor)


async def _lock_domains(
    call: LinkCall[Any, Any], restored: Sequence[Link], session: MongoSession
) -> None:
    """Lock restored links' domains until the transaction ends. Raises BadRequest without one."""
    domain_ids: set[UUID] = {link.domain_id for link in restored if link.domain_id}
    locked = await call.services.domains.lock(domain_ids, session) if domain_ids else set()
    for link in restored:
        if link.domain_id and link.domain_id not in locked:
            raise BadRequest(
                f"domain_id: short link {link.id} cannot be restored: {link.domain_name} was "
                "deleted, or another account has proven it"
            )


async def _changes(call: LinkCall[Any, Any], before: Link, after: Link) -> dict[str, FieldChange]:
    """Return the changed fields for the audit log, with the names of tags."""
    changes = differences(before, after, without=["tags", "names", "rules", "split"])
    for field in ("rules", "split"):
        if getattr(before, field) != getattr(after, field):
            old, new = (_names(getattr(link, field)) for link in (before, after))
            shown = f"{new} (changed)" if old == new else new
            changes[field] = FieldChange(before=old, after=shown)
    if before.password_hash != after.password_hash:
        changes["password"] = FieldChange(
            before=before.password_hash and "set",
            after=after.password_hash and ("changed" if before.password_hash else "set"),
        )
    if before.tags != after.tags:
        tags = await call.services.tags.find({*before.tags, *after.tags})
        names = [
            ", ".join(tags[one].name for one in link.tags if one in tags) or None
            for link in (before, after)
        ]
        changes["tags"] = FieldChange(before=names[0], after=names[1])
    return changes


def _names(part: Sequence[Rule] | Split | None) -> str | None:
    """Return the names of rules or variants. `rules/versions` have all that was changed."""
    named = part.variants if isinstance(part, Split) else part or ()
    return ", ".join(one.name for one in named) or None


async def _audit_action(call: LinkCall[Any, Any], revision: Revision) -> AuditAction:
    changes = await _changes(call, *revision)
    return AuditAction(
        action=_action(revision), target=LINKS.audit_object(revision.after), changes=changes
    )


def _action(revision: Revision) -> str:
    before, after = revision
    if before.archived == after.archived:
        return "short_link.changed"
    return "short_link.archived" if after.archived else _RESTORED
