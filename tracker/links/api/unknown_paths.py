"""`/api/domains/{id}/unknown-paths`: what visitors of a domain asked for, and no link has."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tracker.links.api.domains import DOMAINS
from tracker.links.services import LinkCall
from tracker.links.site.unknown_paths import MAX_STORED, NO_ROOM
from tracker.syntax.url_path import written
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import record_of
from tracker.web.schema import Page, Paged, Timestamp

endpoint = Endpoints("links")


class UnknownPathRecord(msgspec.Struct, kw_only=True):
    """An unknown path, bots' requests included."""

    path: Annotated[str, Meta(description="as in `paths` of a link; cut to 255 bytes")]
    host: str
    count: int
    first_at: Timestamp
    last_at: Timestamp
    referrer: Annotated[str | None, Meta(description="the host of the last referrer")]


class UnknownPathPage(Page[UnknownPathRecord], kw_only=True):
    """A page of unknown paths."""

    did_not_fit: Annotated[int, Meta(description="requests for further paths, which are not kept")]


@endpoint(
    "GET",
    "/api/domains/{id}/unknown-paths",
    "domains:read",
    summary=f"List unknown paths of a domain, last asked first: at most {MAX_STORED:,} of 30 days",
)
async def list_unknown(call: LinkCall[Paged, Nothing]) -> UnknownPathPage:
    """List what visitors asked for and no link has, not even an archived one."""
    domain, query = await DOMAINS.find(call), call.query
    found = await call.services.unknown_paths.find(domain.id)
    lost = found.pop(NO_ROOM, None)
    names = await call.services.links.find_names(domain, found)
    rows = [
        record_of(UnknownPathRecord, asked, path=written(path), host=domain.domain_name)
        for path, asked in found.items()
        if path not in names
    ]
    first = (query.page - 1) * query.page_size
    page = query.page_of(rows[first : first + query.page_size], len(rows))
    return UnknownPathPage(
        rows=page.rows, pagination=page.pagination, did_not_fit=lost.count if lost else 0
    )
