"""What became of an id, and what a postback would do. Nothing is recorded."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeVar, cast
from uuid import UUID

import msgspec
from msgspec import Meta, field
from msgspec.structs import replace

from tracker.clicks.document import ONLY_TESTS, ClickDocument
from tracker.clock import now
from tracker.conversions.corrections.status import NO_VALUE, Status, is_click_key
from tracker.conversions.document import COUNTED, Attribution, attribute, click_and_config
from tracker.conversions.new_document import document
from tracker.conversions.postbacks.aliases import ignored_name, warning_of_ignored, warnings_of
from tracker.conversions.postbacks.parameters import ConversionParameters, parse_text
from tracker.conversions.resolution import read_by
from tracker.errors import BadRequest, NotFound
from tracker.feeds.api.click_records import ClickRecord
from tracker.feeds.api.clicks import shown_clicks
from tracker.feeds.api.conversion_schema import (
    AttributionName,
    ConversionEventConfig,
    ListedConversion,
)
from tracker.feeds.api.conversions import listed
from tracker.feeds.api.refused_postbacks import RefusedPostbackRecord, refused_records
from tracker.feeds.clicks import StoredClick
from tracker.feeds.conversions import StoredConversion
from tracker.feeds.filter import FeedFilter
from tracker.feeds.services import FeedCall
from tracker.feeds.way import MAX_STEPS, earlier_clicks, later_clicks
from tracker.ids import parse_event_id, parse_id
from tracker.reports.dimensions import TAG
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_EVENT_BYTES
from tracker.web.resource import record_of
from tracker.web.schema import AccountId, AccountQuery, trimmed

endpoint = Endpoints("feeds", tag="Conversions")

MAX_FOUND: Final = 100
MAX_REFUSED: Final = 20
_UNITS: Final = (("day", 86_400), ("hour", 3600), ("minute", 60))
_STATES: Final = {
    Attribution.LATE: "Too late for its click.",
    Attribution.TOO_FAST: "Too soon after its click.",
    Attribution.TEST: "The click is a test: it would not count.",
    Attribution.REFUSED: "Would be refused: max_per_click, a rule of the account.",
}
_Kind = Literal["click", "event", "transaction"]
Id = TypeVar("Id")


class CheckPostback(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The postback to check: a URL of any host, of which only the query is read."""

    account_id: AccountId = field(name="accountId")
    url: Annotated[str, Meta(max_length=MAX_EVENT_BYTES)]


class CheckedPostback(msgspec.Struct, kw_only=True):
    """What a postback would do, in words and as far as it would be recorded.

    `error` refuses it. `repeat_of` is the conversion that has its transaction id.
    """

    summary: str = ""
    error: str | None = None
    warnings: list[str] = field(default_factory=list)
    event_config: ConversionEventConfig | None = None
    click_id: UUID | None = None
    repeat_of: int | None = None
    attribution: AttributionName | None = None
    payout: Decimal | None = None
    currency: str | None = None


class Find(AccountQuery, kw_only=True):
    """A click id, transaction id or event id. A URL of a postback has a key: no query has it."""

    q: Annotated[str, Meta(examples=["order-1001"])]


class FoundObjects(msgspec.Struct, kw_only=True):
    """Everything with an id: the newest 100 conversions, and 20 refused postbacks that contain it.

    `kind` is null if it is neither a click nor a conversion.
    """

    kind: _Kind | None
    click: ClickRecord | None = None
    earlier: Annotated[
        list[ClickRecord],
        Meta(description=f"the clicks that led to the click, oldest first; up to {MAX_STEPS}"),
    ] = field(default_factory=list)
    later: Annotated[
        list[ClickRecord],
        Meta(description=f"the clicks that it led to, oldest first; up to {MAX_STEPS}"),
    ] = field(default_factory=list)
    conversions: list[ListedConversion] = field(default_factory=list)
    refused: list[RefusedPostbackRecord] = field(default_factory=list)


@endpoint(
    "GET",
    "/api/find",
    "conversions:read",
    limited=True,
    operation_id="findObjects",
)
async def find(call: FeedCall[Find, Nothing]) -> FoundObjects:
    """Find clicks, conversions and refused postbacks by an id."""
    text, limit = trimmed("q", call.query.q), call.principal.tags
    services, values = call.services, {} if limit is None else {TAG: sorted(limit)}
    events, kind = dict[int, StoredConversion](), cast(_Kind | None, None)
    clicks: Sequence[StoredClick] = ()
    if click_id := _parsed(parse_id, text):
        wanted = FeedFilter(id=click_id, values=values)
        clicks = (await services.click_feed.page(call.account_id, wanted, None, 1)).rows
    earlier, later = [await shown_clicks(call, one) for one in await _way(call, clicks)]
    for one, wanted in (await _filters(call, text, click_id)).items():
        wanted = replace(wanted, values=values)
        page = await services.conversion_feed.page(call.account_id, wanted, None, MAX_FOUND)
        kind = kind or (one if page.rows else None)
        events |= {row.id: row for row in page.rows}
    refusals = services.conversions.refusals
    refused, _ = await refusals.page(call.account_id, None, 1, MAX_REFUSED, text)
    return FoundObjects(
        kind="click" if clicks else kind,
        click=next(iter(await shown_clicks(call, clicks)), None),
        earlier=earlier,
        later=later,
        conversions=await listed(call, list(events.values())),
        refused=await refused_records(call, refused) if limit is None else [],
    )


async def _way(
    call: FeedCall[Any, Nothing], clicks: Sequence[StoredClick]
) -> Sequence[Sequence[StoredClick]]:
    """Return the clicks before and after one, as far as the caller may see their links."""
    services, feed = call.services, call.services.click_feed
    if not clicks:
        return [[], []]
    earlier = await earlier_clicks(feed, call.account_id, clicks[0])
    later = await later_clicks(services.reads, feed, call.account_id, clicks[0].id)
    if call.principal.tags is None:
        return [earlier, later]
    links = await services.links.links.find_all({one.link_id for one in (*earlier, *later)})
    seen = {key for key, link in links.items() if call.principal.may_see(link)}
    return [one for one in earlier if one.link_id in seen], [
        one for one in later if one.link_id in seen
    ]


async def _filters(
    call: FeedCall[Any, Nothing], text: str, click_id: UUID | None
) -> dict[_Kind, FeedFilter]:
    """Return the filters of conversions that `text` may name."""
    found: dict[_Kind, FeedFilter] = {}
    if click_id:
        found["click"] = FeedFilter(click_id=click_id)
    if event_id := _parsed(parse_event_id, text):
        found["event"] = FeedFilter(id=event_id)
    if not is_click_key(text):
        configs = await call.services.conversions.event_configs.ids(call.account_id)
        scopes = [call.account_id, *configs]
        found["transaction"] = FeedFilter(transaction_id=text, transaction_scopes=scopes)
    return found


def _parsed(parse: Callable[[str, str], Id], text: str) -> Id | None:
    try:
        return parse("q", text)
    except BadRequest:
        return None


@endpoint(
    "POST",
    "/api/postbacks/check",
    "conversions:read",
    example={"url": "https://network.example/?pbk=mB2eZc0vQ8yT5sWkXn1uHg"},
    operation_id="checkPostback",
)
async def check(call: FeedCall[Nothing, CheckPostback]) -> CheckedPostback:
    """Check a postback URL by the rules of `/api/event`, and record nothing."""
    text, answer = call.body.url.strip().partition("#")[0], CheckedPostback()
    words = ["No event configuration of yours."]
    try:
        parameters = parse_text((text.partition("?")[2] or text).encode())
        configs, pbk = call.services.conversions.event_configs, parameters.pbk
        config = await configs.by_postback_key(pbk, call.client.address) if pbk else None
        if config and config.account_id != call.account_id:
            config = None
        if config:
            answer.event_config = record_of(ConversionEventConfig, config)
            words = [f"Event '{config.name}'."]
        read, _ = read_by(config, parameters)
        answer.warnings = [*warnings_of(read), *await _hints(call, read)]
        words += await _outcome(call, answer, parameters)
    except (BadRequest, NotFound) as error:
        answer.error = error.message
        words.append(f"Would be refused: {error.message}.")
    answer.warnings = list(dict.fromkeys(answer.warnings))
    names = filter(None, map(ignored_name, answer.warnings))
    words += [f"`{name}` is not known here: add it as a name." for name in names]
    answer.summary = " ".join(words)
    return answer


async def _hints(call: FeedCall[Any, Any], read: ConversionParameters) -> list[str]:
    """Return a warning of each ignored parameter whose value is the id of a click."""
    others = (read.click_id is None and read.others) or {}
    parsed = {name: _parsed(parse_id, str(value)) for name, value in others.items()}
    ids = [one for one in parsed.values() if one]
    found = {one.id for one in await call.services.click_feed.find_all(call.account_id, ids)}
    return [warning_of_ignored(name, "click_id") for name, one in parsed.items() if one in found]


async def _outcome(
    call: FeedCall[Any, Any], answer: CheckedPostback, parameters: ConversionParameters
) -> list[str]:
    """Complete the answer of an accepted postback; return the words. Raises as `record` does."""
    conversions = call.services.conversions
    new, answer.repeat_of = await conversions.recorder.check(
        parameters, call.account_id, call.client.address
    )
    made, account = document(new), await conversions.account_rules.cached(call.account_id)
    answer.warnings = [*(new.warnings or ()), *answer.warnings]
    click_id = UUID(bytes=new.click_id) if new.click_id else None
    answer.click_id, status = click_id, made.get("reported", Status.APPROVED)
    clicks = await call.services.click_feed.find_all(
        call.account_id, [click_id] if click_id else []
    )
    words = [_click(clicks, click_id)]
    if answer.repeat_of is not None:
        restates = "restates" in made.get("report", ())
        outcome = f"would be {status}" if restates else "a repeat counts nothing"
        return [*words, f"Conversion {answer.repeat_of} has its transaction id: {outcome}."]
    state, which = made["status"], click_and_config(made)
    for click in clicks:
        values: dict[str, Any] = {"account_id": call.account_id.bytes, "at": click.at}
        values |= ONLY_TESTS if click.test else {}
        state = attribute(made, cast(ClickDocument, values))["status"]
        if which and state in COUNTED:
            counted = (await conversions.store.counted([which])).get(which, 0)
            state = Attribution.REFUSED if account.rules.is_full(counted) else state
    answer.attribution = cast(AttributionName, state.value)
    answer.payout = None if new.payout is None else Decimal(new.payout)
    answer.currency = made.get("currency", account.currency)
    words += filter(None, [_STATES.get(state)])
    return [*words, _pay(answer, status)] if state in COUNTED else words


def _click(clicks: Sequence[StoredClick], click_id: UUID | None) -> str:
    if not clicks:
        return "No click is named." if click_id is None else "The click is not stored here."
    seconds = (now() - clicks[0].at).total_seconds()
    for unit, size in _UNITS:
        if (number := int(seconds // size)) > 0:
            return f"Click found, {number} {unit}{'s' * (number > 1)} old."
    return "Click found, less than a minute old."


def _pay(answer: CheckedPostback, status: Status) -> str:
    if status in NO_VALUE or answer.payout is None:
        return f"Would be {status}, and pay nothing."
    payout = answer.payout.normalize()
    digits = max(2, -int(payout.as_tuple().exponent))
    money = " ".join(filter(None, (f"{payout:.{digits}f}", answer.currency)))
    return f"Would pay {money}{', once approved' * (status is Status.PENDING)}."
