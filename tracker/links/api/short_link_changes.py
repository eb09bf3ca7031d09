"""`/api/short-links`: change, archive and restore a link."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from msgspec import UNSET

from tracker.access.audit import AuditAction, FieldChange, differences
from tracker.errors import BadRequest
from tracker.links import destination
from tracker.links.api.new_links import check_own
from tracker.links.api.option_schema import fields_of, rule_fields
from tracker.links.api.rules.checks import check_size
from tracker.links.api.short_link_record import ShortLink, WrittenShortLink, written
from tracker.links.api.short_link_schema import (
    ChangeShortLink,
    CreateShortLink,
)
from tracker.links.api.short_links import (
    LINKS,
    check_targets,
    create,
    find_own,
)
from tracker.links.link import Link, Revision
from tracker.links.macros import check_macros
from tracker.links.rules.rule import Rule, Split
from tracker.links.services import LinkCall
from tracker.links.tags import Tag
from tracker.stores.mongodb.transaction import MongoSession
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_TAGS
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
    if changes := await _changes_of(call, Revision(link, changed)):
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
    changes = await _changes_of(call, Revision(link, archived))
    await call.audit("short_link.archived", LINKS.audit_object(link), changes)
    return Done()


@endpoint("POST", "/api/short-links/{id}/restore", "links:write", limited=True)
async def restore(call: LinkCall[Nothing, Nothing]) -> ShortLink:
    """Restore an archived short link. Others stay unchanged."""
    [link] = await change_all(
        call, [await find_own(call, call.services.links)], lambda _: {"archived": False}
    )
    return await LINKS.show(call, link)


async def change_all(
    call: LinkCall[Any, Any],
    links: Sequence[Link],
    fields_of: Callable[[Link], Mapping[str, Any]],
) -> list[Link]:
    """Change the links with their audit entries. Raises BadRequest as `_lock_domains` does."""

    async def check_and_audit(session: MongoSession, revisions: Sequence[Revision]) -> None:
        restored = [one.after for one in revisions if _action(one) == _RESTORED]
        await _lock_domains(call, restored, session)
        tags = await _changed_tags(call, revisions)
        await call.audit_all([_audit_action(one, tags) for one in revisions], session)

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
            raise cannot_be_restored(link)


def cannot_be_restored(link: Link) -> BadRequest:
    """Return the error of an archived link whose domain is not in use."""
    return BadRequest(
        f"domain_id: short link {link.id} cannot be restored: {link.domain_name} was "
        "deleted, or another account has proven it"
    )


async def _changes_of(call: LinkCall[Any, Any], revision: Revision) -> dict[str, FieldChange]:
    return _changes(*revision, await _changed_tags(call, [revision]))


async def _changed_tags(
    call: LinkCall[Any, Any], revisions: Sequence[Revision]
) -> Mapping[UUID, Tag]:
    """Return the tags of links whose tags have changed."""
    changed = [one for one in revisions if one.before.tags != one.after.tags]
    found = {tag_id for one in changed for link in one for tag_id in link.tags}
    return await call.services.tags.find(found) if found else {}


def _changes(before: Link, after: Link, tags: Mapping[UUID, Tag]) -> dict[str, FieldChange]:
    """Return the changed fields for the audit log, with the names of `tags`."""
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


def _audit_action(revision: Revision, tags: Mapping[UUID, Tag]) -> AuditAction:
    target = LINKS.audit_object(revision.after)
    return AuditAction(action=_action(revision), target=target, changes=_changes(*revision, tags))


def _action(revision: Revision) -> str:
    before, after = revision
    if before.archived == after.archived:
        return "short_link.changed"
    return "short_link.archived" if after.archived else _RESTORED
