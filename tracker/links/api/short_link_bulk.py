"""`PATCH /api/short-links/bulk`: change many links at once, all or none, or each that can be."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from tracker.errors import BadRequest, ChangedMeanwhile, ErrorCode, TrackerError
from tracker.links.api.new_links import check_own
from tracker.links.api.option_schema import OptionsIn, check_options_in, fields_of
from tracker.links.api.short_link_changes import cannot_be_restored, change_all
from tracker.links.api.short_link_record import ShortLink
from tracker.links.api.short_link_schema import EXAMPLE_LINK, TagIds
from tracker.links.api.short_links import LINKS, check_targets
from tracker.links.link import Link
from tracker.links.options import check_options
from tracker.links.services import LinkCall
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_BULK_CHANGES, MAX_TAGS
from tracker.web.schema import AccountId, sent_fields

endpoint = Endpoints("links")


class ChangeShortLinks(OptionsIn, forbid_unknown_fields=True, kw_only=True):
    """The links to change together, and the changes."""

    account_id: AccountId = field(name="accountId")
    ids: Annotated[
        list[Annotated[UUID, Meta(examples=[EXAMPLE_LINK])]],
        Meta(
            min_length=1,
            max_length=MAX_BULK_CHANGES,
            description="short links of the account, archived ones too",
        ),
    ]
    active: bool | UnsetType = UNSET
    archived: Annotated[bool, Meta(description="false restores")] | UnsetType = UNSET
    add_tags: TagIds = field(default_factory=list)
    remove_tags: TagIds = field(default_factory=list)
    revisions: Annotated[
        list[int],
        Meta(
            max_length=MAX_BULK_CHANGES,
            description="of the `ids`, in their order: 412 if one has another by now",
        ),
    ] = field(default_factory=list)
    all_or_nothing: Annotated[
        bool,
        Meta(description="false: each link that can be is changed, and `results` has the rest"),
    ] = True

    def __post_init__(self) -> None:
        always = {"account_id", "ids", "add_tags", "remove_tags", "revisions", "all_or_nothing"}
        if not (sent_fields(self).keys() - always or self.add_tags or self.remove_tags):
            raise BadRequest("body: needs active, archived, add_tags, remove_tags or an option")
        if set(self.add_tags) & set(self.remove_tags):
            raise BadRequest("remove_tags: add_tags has one of them too")
        for name in ("paths", "rules", "split"):
            if getattr(self, name) is not UNSET:
                raise BadRequest(f"{name}: belong to one link; change it alone")
        self.ids = list(dict.fromkeys(self.ids))
        if self.revisions and len(self.revisions) != len(self.ids):
            raise BadRequest("revisions: must be one for each of ids")
        check_options_in(self)


class ChangeResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of one link. Without `error` it is as it was to be."""

    id: UUID
    error: str | None = None
    code: Annotated[ErrorCode | None, Meta(description="as in X-Error-Code")] = None


class ChangedShortLinks(msgspec.Struct, kw_only=True):
    """The changed links, and without `all_or_nothing` a result for each id, in their order."""

    rows: list[ShortLink]
    results: list[ChangeResult] | UnsetType = UNSET


_Call = LinkCall[Nothing, ChangeShortLinks]


@endpoint(
    "PATCH",
    "/api/short-links/bulk",
    "links:write",
    summary=f"Change, archive or restore up to {MAX_BULK_CHANGES} short links",
    check=check_targets,
    example={"ids": [EXAMPLE_LINK], "active": False},
    limited=True,
    operation_id="changeShortLinks",
)
async def change_many(call: _Call) -> ChangedShortLinks:
    """Change several links, all or none; or each that can be, without `all_or_nothing`."""
    body, services = call.body, call.services
    links = await services.links.find_all(body.ids)
    tags = await services.tags.find({*body.add_tags, *body.remove_tags})
    named = [("ids", link_id, links.get(link_id)) for link_id in body.ids if body.all_or_nothing]
    added = [("add_tags", tag_id, tags.get(tag_id)) for tag_id in body.add_tags]
    removed = [("remove_tags", tag_id, tags.get(tag_id)) for tag_id in body.remove_tags]
    check_own(call, [*named, *added, *removed])
    refused = {} if body.all_or_nothing else await _refused(call, links)
    fields = await fields_of(body, services.passwords)
    expected = dict(zip(body.ids, body.revisions, strict=False))

    def fields_for(link: Link) -> Mapping[str, Any]:
        """Return the fields to set; none if the link is refused. Conflicts ask again."""
        refused.pop(link.id, None)
        try:
            if expected.get(link.id, link.revision) != link.revision:
                raise ChangedMeanwhile(f"revisions: short link {link.id} has another by now")
            return _fields(call, fields, link)
        except TrackerError as error:
            if body.all_or_nothing:
                raise
            refused[link.id] = error
            return {}

    able = [links[one] for one in body.ids if one not in refused]
    changed = await change_all(call, able, fields_for) if able else []
    rows = await LINKS.show_all(call, [one for one in changed if one.id not in refused])
    results = [_result(one, refused.get(one)) for one in body.ids]
    return ChangedShortLinks(rows=rows, results=UNSET if body.all_or_nothing else results)


async def _refused(call: _Call, links: Mapping[UUID, Link]) -> dict[UUID, TrackerError]:
    """Return why some links cannot be changed at all."""
    body = call.body
    restored = [one for one in links.values() if one.archived and body.archived is False]
    domains = {one.domain_id for one in restored if one.domain_id}
    gone = {one for one in domains if await call.services.domains.find(one) is None}
    refused: dict[UUID, TrackerError] = {
        one.id: cannot_be_restored(one) for one in restored if one.domain_id in gone
    }
    for link_id in body.ids:
        try:
            check_own(call, [("ids", link_id, links.get(link_id))])
        except TrackerError as error:
            refused[link_id] = error
    return refused


def _result(link_id: UUID, error: TrackerError | None) -> ChangeResult:
    if error is None:
        return ChangeResult(id=link_id)
    return ChangeResult(id=link_id, error=error.message, code=error.code)


def _fields(call: _Call, sent: Mapping[str, Any], link: Link) -> dict[str, Any]:
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
        raise error.with_message(f"{error.message}: short link {link.id}") from None
    return {**fields, "tags": tags}
