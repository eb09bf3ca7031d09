"""Rows as conversions: checked as postbacks are, and compared with what is stored. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from bson import Decimal128
from msgspec.structs import replace

from tracker.clock import moment
from tracker.conversions.corrections.changes import Change, result_of, with_change
from tracker.conversions.corrections.status import OnRepeat, click_key
from tracker.conversions.document import ConversionDocument, TransactionId
from tracker.conversions.event_config import EventConfig
from tracker.conversions.postbacks.fields import REPORTED
from tracker.conversions.postbacks.parameters import (
    PARSERS,
    ConversionParameters,
    checked_parameters,
)
from tracker.conversions.postbacks.words import meaning_of, plain_word
from tracker.conversions.resolution import Reported, read_by
from tracker.conversions.restating import changes_of
from tracker.errors import BadRequest
from tracker.uploads.forms import Row


class Told(NamedTuple):
    """What a row tells of a conversion. Without a transaction id of its own it has its click's."""

    row: Row
    parameters: ConversionParameters
    reported: Reported
    key: TransactionId


def told(row: Row, config: EventConfig) -> Told:
    """Raises BadRequest if a field breaks a rule."""
    fields = _with_type(row.fields, config)
    plain = {name: one for name, one in fields.items() if name not in REPORTED}
    parameters = checked_parameters({**plain, "pbk": config.pbk})
    more = {name: PARSERS[name](name, fields[name]) for name in REPORTED if name in fields}
    parameters, own = replace(parameters, **more), parameters.transaction_id
    if own is None:
        if parameters.click_id is None:
            raise BadRequest("click_id or transaction_id: at least one is required")
        parameters = replace(parameters, transaction_id=click_key(parameters.click_id))
    parameters, reported = read_by(config, parameters)
    if own is None and reported.on_repeat is OnRepeat.COUNT:
        raise BadRequest("transaction_id: required, because the status counts each time")
    return Told(row, parameters, reported, (config.id.bytes, parameters.transaction_id or ""))


def _with_type(fields: Mapping[str, Any], config: EventConfig) -> dict[str, Any]:
    """Keep a type of another tracker as metadata. It is a status if the word is known as one."""
    if "type" not in fields:
        return dict(fields)
    others = {name: one for name, one in fields.items() if name != "type"}
    kind = str(fields["type"])
    if "status" not in fields and meaning_of(plain_word(kind), config.statuses):
        others["status"] = fields["type"]
    return {"metadata": {"type": kind}, **others}


def is_stored(event: ConversionDocument, one: Told, at: int, home: str | None) -> bool:
    """Return whether a stored conversion has all that a row states, at its moment or else `at`.

    `home` is the account's currency.
    """
    changes = changes_of(event)
    return len(with_change(changes, _change(one, at, home))) == len(changes)


def are_stored(event: ConversionDocument, rows: Sequence[Told], at: int, home: str | None) -> bool:
    """Return whether rows without times of their own, one after the other, change nothing."""
    if any(one.parameters.occurred_at is not None for one in rows):
        return False
    before = after = changes_of(event)
    for number, one in enumerate(rows):
        after = with_change(after, _change(one, at, home, f"~{number:06}"))
    return result_of(after) == result_of(before)


def _change(one: Told, at: int, home: str | None, change_id: str = "") -> Change:
    sent = one.parameters
    stated: dict[str, Any] = {}
    if sent.value is not None:
        stated["value"] = Decimal128(sent.value)
    if one.reported.status is not None:
        stated["reported"] = one.reported.status
    if one.reported.unknown_word is not None:
        stated["unknown_word"] = one.reported.unknown_word
    if sent.currency is not None and home not in (None, sent.currency):
        stated["currency"] = sent.currency
    moments = {"at": moment(sent.occurred_at or at), "recorded_at": moment(at)}
    return cast(Change, {"id": change_id, **moments, **stated})
