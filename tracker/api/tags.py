"""`/api/tags`: GET lists tags, POST creates or lists; PATCH renames one, DELETE takes it off all
links."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.schema import AccountId, AccountPage, Done, Page, Paged, Timestamp, trimmed
from tracker.clock import iso
from tracker.links.tags import Tag

_LENGTH = 190

TagName = Annotated[
    str,
    Meta(
        description="trimmed; unique in the account without regard to case",
        extra_json_schema={"minLength": 1, "maxLength": _LENGTH},
    ),
]


class TagRecord(msgspec.Struct, kw_only=True):
    """A tag."""

    id: UUID
    account_id: UUID
    name: str
    created_at: Timestamp


class ListOrCreateTag(Paged, forbid_unknown_fields=True, kw_only=True):
    """With `name` a tag is created; without it tags are listed."""

    account_id: AccountId = field(name="accountId")
    name: TagName | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not UNSET:
            self.name = trimmed("name", self.name, _LENGTH)


class ChangeTag(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The new name of a tag."""

    name: TagName

    def __post_init__(self) -> None:
        self.name = trimmed("name", self.name, _LENGTH)


def _scope(body: ListOrCreateTag) -> str:
    """`tags:write` with a name, `tags:read` without."""
    return "tags:read" if body.name is UNSET else "tags:write"


async def list_or_create(call: Call[Nothing, ListOrCreateTag]) -> TagRecord | Page[TagRecord]:
    body, tags = call.body, call.services.tags
    if body.name is not UNSET:
        return _shown(await tags.create(call.account_id, body.name))
    return await _page(call, body)


async def list_tags(call: Call[AccountPage, Nothing]) -> Page[TagRecord]:
    return await _page(call, call.query)


async def _page(call: Call[Any, Any], asked: Paged) -> Page[TagRecord]:
    rows, total = await call.services.tags.page(call.account_id, asked.page, asked.page_size)
    return asked.page_of([_shown(tag) for tag in rows], total)


async def change(call: Call[Nothing, ChangeTag]) -> TagRecord:
    tag = await _own_tag(call)
    return _shown(await call.services.tags.rename(tag.id, call.body.name))


async def delete(call: Call[Nothing, Nothing]) -> Done:
    """Off the links first: after a crash the tag is still there to be deleted again."""
    tag = await _own_tag(call)
    await call.services.links.untag(tag.account_id, tag.id)
    await call.services.tags.delete(tag.id)
    # Again, for links that got it meanwhile.
    await call.services.links.untag(tag.account_id, tag.id)
    return Done()


async def _own_tag(call: Call[Nothing, ChangeTag] | Call[Nothing, Nothing]) -> Tag:
    tag_id = call.ids[0]
    return call.own("tag", (await call.services.tags.find([tag_id])).get(tag_id))


def _shown(tag: Tag) -> TagRecord:
    return TagRecord(
        id=tag.id, account_id=tag.account_id, name=tag.name, created_at=iso(tag.created_at)
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/tags",
        "tags:read",
        list_tags,
        "List tags, newest first",
        Page[TagRecord],
        query=AccountPage,
    ),
    Endpoint(
        "POST",
        "/api/tags",
        _scope,
        list_or_create,
        "With name create a tag, without it list tags, newest first",
        (TagRecord, Page[TagRecord]),
        body=ListOrCreateTag,
        example={"name": "Spring"},
    ),
    Endpoint(
        "PATCH",
        "/api/tags/{id}",
        "tags:write",
        change,
        "Rename a tag",
        TagRecord,
        body=ChangeTag,
        example={"name": "Summer"},
    ),
    Endpoint(
        "DELETE",
        "/api/tags/{id}",
        "tags:write",
        delete,
        "Delete a tag and take it off all links",
        Done,
    ),
)
