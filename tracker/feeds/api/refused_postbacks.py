"""`/api/refused-postbacks`: requests to record a conversion that were refused."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.conversions.refusals import MAX_STORED, STORED_DAYS, RefusalReason, RefusedPostback
from tracker.feeds.api.click_records import record_in
from tracker.feeds.api.conversion_schema import ConversionEventConfig
from tracker.feeds.services import FeedCall
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import record_of
from tracker.web.schema import AccountPage, FilterText, Page, Timestamp

endpoint = Endpoints("feeds")

DescribedReason = Annotated[
    RefusalReason,
    Meta(description="the parameter at fault; rate: too many requests; request: the whole request"),
]


class ListRefusedPostbacks(AccountPage, kw_only=True):
    """The page of refused requests to list."""

    reason: DescribedReason | None = None
    search: Annotated[
        FilterText,
        Meta(description="a part of the query or body, such as a click id or transaction id"),
    ] = ""


class RefusedPostbackRecord(msgspec.Struct, kw_only=True):
    """A refused request. It counts nothing."""

    id: UUID
    at: Timestamp
    method: str
    reason: DescribedReason
    status: Annotated[int, Meta(description="the status of the answer")]
    error: Annotated[str, Meta(description="the error in the answer")]
    query: Annotated[str, Meta(description="the query as sent, without secrets; cut if long")]
    body: Annotated[str, Meta(description="the body as sent, without secrets; cut if long")]
    event_config: Annotated[
        ConversionEventConfig | None,
        Meta(description="the configuration of the postback key, in any state"),
    ]
    click_id: UUID | None


class RefusedCount(msgspec.Struct, kw_only=True):
    """The number of requests that were refused for a reason."""

    reason: DescribedReason
    count: int


class RefusedPostbacks(Page[RefusedPostbackRecord], kw_only=True):
    """A page of the newest refused requests, and the number of all by reason."""

    counts: Annotated[
        list[RefusedCount],
        Meta(
            description=f"of today and the {STORED_DAYS - 1} days before, UTC; most frequent first"
        ),
    ]


@endpoint(
    "GET",
    "/api/refused-postbacks",
    "conversions:read",
    summary=f"List requests to report a conversion that were refused: the newest {MAX_STORED:,} of "
    f"{STORED_DAYS} days",
)
async def list_refused(call: FeedCall[ListRefusedPostbacks, Nothing]) -> RefusedPostbacks:
    """Return a page of the account's refused requests, newest first."""
    query, refusals = call.query, call.services.conversions.refusals
    (rows, total), counts = await asyncio.gather(
        refusals.page(call.account_id, query.reason, query.page, query.page_size, query.search),
        refusals.counts(call.account_id),
    )
    page = query.page_of(await refused_records(call, rows), total)
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return RefusedPostbacks(
        rows=page.rows,
        pagination=page.pagination,
        counts=[RefusedCount(reason=reason, count=count) for reason, count in ordered],
    )


async def refused_records(
    call: FeedCall[Any, Nothing], rows: Sequence[RefusedPostback]
) -> list[RefusedPostbackRecord]:
    ids = {one.event_config_id for one in rows if one.event_config_id}
    configs = await call.services.conversions.event_configs.find_all(ids)
    return [
        record_of(
            RefusedPostbackRecord,
            one,
            event_config=record_in(ConversionEventConfig, configs, one.event_config_id),
        )
        for one in rows
    ]
