"""`/api/utm-templates`: show and replace the UTM templates of an account."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, field

from tracker.access.audit import AuditObject, FieldChange
from tracker.errors import BadRequest
from tracker.links.services import LinkCall
from tracker.links.utm import MAX_UTM_CHARACTERS, UTM
from tracker.links.utm_templates.store import UtmTemplate, UtmTemplates
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_VIEW_NAME_CHARACTERS
from tracker.web.schema import AccountId, AccountQuery, trimmed

endpoint = Endpoints("links")

MAX_TEMPLATES: Final = 100


class AllUtmTemplates(msgspec.Struct, kw_only=True):
    """The templates of an account, by name."""

    rows: list[UtmTemplate]


class ReplaceUtmTemplates(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The templates that take the place of all."""

    account_id: AccountId = field(name="accountId")
    rows: Annotated[list[UtmTemplate], Meta(max_length=MAX_TEMPLATES)]

    def __post_init__(self) -> None:
        names = set()
        for at, one in enumerate(self.rows):
            one.name = trimmed(f"rows[{at}].name", one.name, MAX_VIEW_NAME_CHARACTERS)
            if one.name.casefold() in names:
                raise BadRequest(f"rows[{at}].name: repeated in this request")
            names.add(one.name.casefold())
            given = [name for name in UTM if getattr(one, name)]
            if not given:
                raise BadRequest(f"rows[{at}]: needs a UTM value")
            for name in given:
                value = trimmed(f"rows[{at}].{name}", getattr(one, name), MAX_UTM_CHARACTERS)
                setattr(one, name, value)
        self.rows.sort(key=lambda one: one.name.casefold())


@endpoint("GET", "/api/utm-templates", "links:read", operation_id="listUtmTemplates")
async def list_all(call: LinkCall[AccountQuery, Nothing]) -> AllUtmTemplates:
    """List the UTM templates of the account, by name."""
    return AllUtmTemplates(rows=await UtmTemplates(call.web.mongodb).of(call.account_id))


@endpoint(
    "PUT",
    "/api/utm-templates",
    "links:write",
    operation_id="replaceUtmTemplates",
    example={"rows": [{**dict.fromkeys(UTM, ""), "name": "Newsletter", "utm_medium": "email"}]},
)
async def replace(call: LinkCall[Nothing, ReplaceUtmTemplates]) -> AllUtmTemplates:
    """Replace the UTM templates of the account: to add or change one, send the others too."""
    templates, rows = UtmTemplates(call.web.mongodb), call.body.rows
    before = await templates.of(call.account_id)
    if rows != before:
        await templates.replace(call.account_id, rows)
        change = FieldChange(before=msgspec.to_builtins(before), after=msgspec.to_builtins(rows))
        target = AuditObject(kind="account", id=call.account_id, name="UTM templates")
        await call.audit("account.utm_templates_changed", target, {"rows": change})
    return AllUtmTemplates(rows=rows)
