"""`/api/short-links/available`: whether a slug is available."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.ids import SLUG, SLUG_RULE
from tracker.links.services import LinkCall
from tracker.syntax.invisible import stripped
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import AccountId

endpoint = Endpoints("links")

TAKEN = "already taken"


class SlugQuery(msgspec.Struct, kw_only=True):
    """The slug to check, and its domain."""

    account_id: AccountId = field(name="accountId")
    slug: Annotated[str, Meta(examples=["spring-offer"])]
    domain_id: Annotated[UUID, Meta(description="custom domain; default: the service's")] | None = (
        None
    )


class SlugAvailability(msgspec.Struct, kw_only=True):
    """Whether a new short link can have the slug."""

    available: bool
    reason: Annotated[
        str | None,
        Meta(
            description="null; the rule that the slug breaks; or that a link has it, maybe an "
            "archived one",
            examples=[TAKEN],
        ),
    ]


@endpoint(
    "GET",
    "/api/short-links/available",
    "links:write",
    operation_id="getSlugAvailability",
    limited=True,
)
async def show(call: LinkCall[SlugQuery, Nothing]) -> SlugAvailability:
    """Check whether a slug is available.

    As at creation, the owner of a taken slug is not revealed.
    """
    slug, domain_id = stripped(call.query.slug), call.query.domain_id
    if domain_id is not None:
        call.check_owner("domain_id", await call.services.domains.find(domain_id))
    if not SLUG.fullmatch(slug):
        return SlugAvailability(available=False, reason=SLUG_RULE)
    taken = await call.services.links.has_slug(domain_id, slug)
    return SlugAvailability(available=not taken, reason=TAKEN if taken else None)
