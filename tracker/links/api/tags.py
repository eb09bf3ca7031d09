"""`/api/tags`: list, create, rename and delete tags."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.access.audit import differences
from tracker.links.services import LinkCall, LinkServices
from tracker.links.tags import Tag
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_TAG_NAME_CHARACTERS
from tracker.web.resource import Resource, record_of
from tracker.web.schema import AccountId, AccountPage, Done, Page, Paged, Timestamp, trimmed

endpoint = Endpoints("links")

TagName = Annotated[
    str,
    Meta(
        description="trimmed; unique in the account, ignoring case",
        extra_json_schema={"minLength": 1, "maxLength": MAX_TAG_NAME_CHARACTERS},
    ),
]


class TagRecord(msgspec.Struct, kw_only=True):
    """A tag."""

    id: UUID
    account_id: UUID
    name: str
    created_at: Timestamp
    links: Annotated[int, Meta(ge=0, description="short links with the tag; no archived ones")]


class ListOrCreateTag(Paged, forbid_unknown_fields=True, kw_only=True):
    """The tag to create if it has a `name`, else the page of tags to list."""

    account_id: AccountId = field(name="accountId")
    name: TagName | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not UNSET:
            self.name = trimmed("name", self.name, MAX_TAG_NAME_CHARACTERS)


class ChangeTag(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The new name of a tag."""

    name: TagName

    def __post_init__(self) -> None:
        self.name = trimmed("name", self.name, MAX_TAG_NAME_CHARACTERS)


def _scope(body: ListOrCreateTag) -> str:
    """`tags:write` with a name, `tags:read` without."""
    return "tags:read" if body.name is UNSET else "tags:write"


async def _find(call: LinkCall[Any, Any]) -> Tag | None:
    tag_id = call.ids[0]
    return (await call.services.tags.find([tag_id])).get(tag_id)


async def _show(services: LinkServices, tags: Sequence[Tag]) -> list[TagRecord]:
    if not tags:
        return []
    counts = await services.links.count_by_tag(tags[0].account_id, [tag.id for tag in tags])
    return [record_of(TagRecord, tag, links=counts.get(tag.id, 0)) for tag in tags]


TAGS: Resource[Tag, TagRecord] = Resource("tag", _find, _show)


@endpoint("GET", "/api/tags", "tags:read", limited=True)
async def list_own(call: LinkCall[AccountPage, Nothing]) -> Page[TagRecord]:
    """List tags, newest first."""
    fetch = partial(call.services.tags.page, call.account_id, among=call.principal.tags)
    return await TAGS.page(call, call.query, fetch)


@endpoint("POST", "/api/tags", _scope, example={"name": "Spring"})
async def list_or_create(call: LinkCall[Nothing, ListOrCreateTag]) -> TagRecord | Page[TagRecord]:
    """Create a tag if the body has a name, else list tags, newest first."""
    body, tags = call.body, call.services.tags
    if body.name is not UNSET:
        tag = await tags.create(call.account_id, body.name)
        await call.audit("tag.created", TAGS.audit_object(tag))
        return await TAGS.show(call, tag)
    return await TAGS.page(call, body, partial(tags.page, call.account_id))


@endpoint("PATCH", "/api/tags/{id}", "tags:write", example={"name": "Summer"})
async def change(call: LinkCall[Nothing, ChangeTag]) -> TagRecord:
    """Rename a tag."""
    tag = await TAGS.find(call)
    renamed = await call.services.tags.rename(tag.id, call.body.name)
    if changes := differences(tag, renamed):
        await call.audit("tag.renamed", TAGS.audit_object(renamed), changes)
    return await TAGS.show(call, renamed)


@endpoint("DELETE", "/api/tags/{id}", "tags:write")
async def delete(call: LinkCall[Nothing, Nothing]) -> Done:
    """Delete a tag and remove it from all links."""
    tag = await TAGS.find(call)
    # From the links first: after a crash the tag still exists and can be deleted again.
    await call.services.links.untag(tag.account_id, tag.id)
    await call.services.tags.delete(tag.id)
    # Again, for links that were tagged with it in the meantime.
    await call.services.links.untag(tag.account_id, tag.id)
    await call.audit("tag.deleted", TAGS.audit_object(tag))
    return Done()
