"""`/api/conversions`: correct one of an account's conversions, or many."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import msgspec
import orjson
from msgspec import UNSET, Meta, UnsetType

from tracker.access.audit import AuditAction, AuditObject, FieldChange
from tracker.access.principal import ActorKind
from tracker.conversions.conversion import Correction
from tracker.errors import BadRequest, ErrorCode, NotFound, Required, TrackerError
from tracker.feeds.api.conversion_schema import ConversionDetail, ListedConversion
from tracker.feeds.api.conversions import detail, listed
from tracker.feeds.api.correction_schema import (
    MAX_BULK_CORRECTIONS,
    MAX_CORRECTIONS_BYTES,
    CorrectConversion,
    CorrectConversions,
    CorrectTransaction,
    NamedTransaction,
)
from tracker.feeds.api.feed_request import account_currency
from tracker.feeds.conversions import row_of
from tracker.feeds.corrections.statement import (
    MAX_CORRECTING,
    after,
    as_corrected,
    correction_of,
    waiting,
)
from tracker.feeds.services import FeedCall
from tracker.reports.dimensions import EVENT, NO_KEY
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints

endpoint = Endpoints("feeds")

_RETRY_SECONDS = 5
_SCOPE = "conversions:write"
_EXAMPLE: Mapping[str, Any] = {"status": "rejected", "reason": "fraud", "note": "Two orders"}

Document = Mapping[str, Any]


class CorrectedRow(msgspec.Struct, kw_only=True):
    """A corrected conversion, or why it was not corrected."""

    conversion: ListedConversion | None = None
    error: Annotated[str | None, Meta(description="names field and rule")] = None
    code: Annotated[ErrorCode | None, Meta(description="as in X-Error-Code")] = None


class CorrectedConversions(msgspec.Struct, kw_only=True):
    """The rows of the request, in their order."""

    rows: list[CorrectedRow]


class _Planned(NamedTuple):
    """The conversion as it will be, and the correction to append; None if it changes nothing."""

    after: Document
    correction: Correction | None


@endpoint("PATCH", "/api/conversions/{event_id}", _SCOPE, example=dict(_EXAMPLE))
async def correct(call: FeedCall[Nothing, CorrectConversion]) -> ConversionDetail:
    """Correct a conversion. The answer is the conversion as it will be in a moment."""
    return await _correct(call, call.event_ids[0])


@endpoint(
    "PATCH",
    "/api/conversions/by-transaction/{transaction_id}",
    _SCOPE,
    example=dict(_EXAMPLE),
    operation_id="changeConversionByTransaction",
)
async def correct_by_transaction(
    call: FeedCall[NamedTransaction, CorrectTransaction],
) -> ConversionDetail:
    """Correct the conversion with this transaction id.

    Raises BadRequest if conversions of several event configurations have it.
    """
    [transaction_id] = call.external_ids
    ids = await _ids(call, [(transaction_id, call.query.event)])
    return await _correct(call, _only(ids[0]))


@endpoint(
    "POST",
    "/api/conversions/bulk",
    _SCOPE,
    summary=f"Correct up to {MAX_BULK_CORRECTIONS} conversions, each answered in order",
    example={"rows": [{"event_id": 1001, **_EXAMPLE}]},
    operation_id="changeConversions",
    body_bytes=MAX_CORRECTIONS_BYTES,
)
async def correct_many(call: FeedCall[Nothing, CorrectConversions]) -> CorrectedConversions:
    """Correct several conversions, each by itself."""
    rows = call.body.rows
    named = [(one.transaction_id, one.event) for one in rows if one.transaction_id is not UNSET]
    found = iter(await _ids(call, named))
    ids = [next(found) if one.event_id is UNSET else [one.event_id] for one in rows]
    documents = await call.services.conversion_feed.documents({id_ for one in ids for id_ in one})
    home = await account_currency(call)
    plans: list[_Planned | TrackerError] = []
    seen = set[int]()
    for row, one in zip(rows, ids, strict=True):
        try:
            event_id = _only(one)
            plan = _plan(call, documents.get(event_id), row, home)
            repeated = BadRequest("event_id: repeated in this request")
            plans.append(repeated if event_id in seen else plan)
            seen.add(event_id)
        except TrackerError as error:
            plans.append(error)
    answers = await _append(call, plans)
    corrected = [row_of(one.after) for one in answers if isinstance(one, _Planned)]
    shown = iter(await listed(call, corrected))
    return CorrectedConversions(
        rows=[
            CorrectedRow(conversion=next(shown))
            if isinstance(one, _Planned)
            else CorrectedRow(error=one.message, code=one.code)
            for one in answers
        ]
    )


async def _correct(call: FeedCall[Any, Any], event_id: int) -> ConversionDetail:
    found = (await call.services.conversion_feed.documents([event_id])).get(event_id)
    [answer] = await _append(call, [_plan(call, found, call.body, await account_currency(call))])
    if isinstance(answer, TrackerError):
        answer.headers.setdefault("Retry-After", str(_RETRY_SECONDS))
        raise answer
    return await detail(call, row_of(answer.after))


def _plan(
    call: FeedCall[Any, Any], document: Document | None, body: CorrectConversion, home: str | None
) -> _Planned:
    """Raises NotFound, Forbidden or BadRequest if the correction cannot be made."""
    call.check_owner("conversion", None if document is None else row_of(document))
    assert document is not None
    before, actor = as_corrected(document, home), call.principal.actor
    kind = "person" if actor.kind == ActorKind.MEMBER else "key"
    correction = correction_of(
        before,
        body.stated(),
        call.account_id,
        actor=f"{kind}:{actor.id}",
        reason=body.reason,
        note=body.note,
    )
    made = after(before, correction, home)
    is_sure = len(waiting(document)) < MAX_CORRECTING  # else one that is not kept may be taken back
    return _Planned(made, None if made is before and is_sure else correction)


async def _append(
    call: FeedCall[Any, Any], plans: Sequence[_Planned | TrackerError]
) -> list[_Planned | TrackerError]:
    """Append and audit the corrections. Return the plans; an error for what is not durable."""
    made = {
        one.correction: number
        for number, one in enumerate(plans)
        if isinstance(one, _Planned) and one.correction
    }
    errors = await call.services.corrections.append(list(made))
    failed = {number: error for number, error in zip(made.values(), errors, strict=True) if error}
    answers = [failed.get(number, one) for number, one in enumerate(plans)]
    done = [one.correction for one in answers if isinstance(one, _Planned) and one.correction]
    await call.audit_all([_audited(one) for one in done])
    return answers


def _audited(correction: Correction) -> AuditAction:
    """The conversion's own history has the amounts, for as long as it is stored."""
    fields = ", ".join(sorted(orjson.loads(correction.stated)))
    changes = {"fields": fields.replace("reported", "status"), "reason": correction.reason}
    return AuditAction(
        action="conversion.corrected",
        target=AuditObject(kind="conversion", id=None, name=str(correction.event_id)),
        changes={name: FieldChange(before=None, after=one) for name, one in changes.items()},
    )


async def _ids(
    call: FeedCall[Any, Any], named: Sequence[tuple[str, str | UnsetType]]
) -> list[Collection[int]]:
    """Return the conversions with each transaction id, of the event configuration if it is named.

    Raises BadRequest if `event` is no id.
    """
    if not named:
        return []
    configs = await call.services.conversions.event_configs.ids(call.account_id)
    scopes = {str(one): one for one in configs} | {NO_KEY[EVENT]: call.account_id}
    found = await call.services.conversion_feed.ids_of_transactions(
        {transaction_id for transaction_id, _ in named}, scopes.values()
    )
    ids: list[Collection[int]] = []
    for transaction_id, event in named:
        by_scope: Mapping[UUID, int] = found.get(transaction_id, {})
        if event is UNSET:
            ids.append(by_scope.values())
        else:
            scope = scopes.get(str(event).lower())
            ids.append([one for found_in, one in by_scope.items() if found_in == scope])
    return ids


def _only(ids: Collection[int]) -> int:
    """Raises NotFound without one, BadRequest if there are several."""
    if not ids:
        raise NotFound("conversion: not found")
    if len(ids) > 1:
        raise Required("event: required; conversions of several event configurations have the id")
    return next(iter(ids))
