"""The document of a conversion as its journal record makes it. Pure."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final

from bson import Decimal128

from tracker.clock import moment
from tracker.conversions.conversion import POSTBACK, Conversion, Report
from tracker.conversions.corrections.status import OnRepeat, Status
from tracker.conversions.document import Attribution, ConversionDocument, StoredReport, check_same

CACHED_AMOUNTS: Final = 10_000

_PER_TURN: Final = 200
"""Documents made before waiting requests are served."""


async def documents_by_id(events: Sequence[Conversion]) -> dict[int, ConversionDocument]:
    """Return the documents by id. Raises EventIdTaken if two events share an id."""
    documents: dict[int, ConversionDocument] = {}
    for start in range(0, len(events), _PER_TURN):
        for event in events[start : start + _PER_TURN]:
            arrived = document(event)
            first = documents.setdefault(event.id, arrived)
            if first is not arrived:
                check_same(first, arrived)
        await asyncio.sleep(0)
    return documents


def document(conversion: Conversion) -> ConversionDocument:
    """Return the document of a conversion whose click is not known yet."""
    made: ConversionDocument = {
        "_id": conversion.id,
        "at": moment(conversion.at),
        "account_id": conversion.account_id,
        "event_config_id": conversion.event_config_id,
        "click_id": conversion.click_id,
        "value": _money(conversion.value),
        "payout": _money(conversion.payout),
        # As text: a visitor's keys never become field names.
        "metadata": conversion.metadata,
        "status": _first_status(conversion),
        "transaction_scope": conversion.transaction_scope,
    }
    if conversion.transaction_id is not None:
        made["transaction_id"] = conversion.transaction_id
    if conversion.warnings:
        made["warnings"] = conversion.warnings
    if conversion.consent is not None:
        made["consent"] = conversion.consent
    if conversion.report is not None:
        _add_report(made, conversion.report)
    return made


def _add_report(made: ConversionDocument, report: Report) -> None:
    kept: StoredReport = {}
    if report.reported is not None:
        kept["reported"] = Status(report.reported)
        if kept["reported"] != Status.APPROVED:
            made["reported"] = kept["reported"]
    if report.unknown_word is not None:
        made["unknown_word"] = report.unknown_word
    if report.currency is not None:
        made["currency"] = kept["currency"] = report.currency
    if report.occurred_at is not None and moment(report.occurred_at) != made["at"]:
        made["received_at"], made["at"] = made["at"], moment(report.occurred_at)
    if report.on_repeat == OnRepeat.UPDATE:
        kept["restates"] = True
    if report.has_fixed_payout:
        kept["fixed_payout"] = True
    if not report.notify:
        kept["silent"] = True
    if report.min_ms is not None:
        kept["min_ms"] = report.min_ms
    if report.max_ms is not None:
        kept["max_ms"] = report.max_ms
    if report.actor != POSTBACK:
        kept["actor"] = report.actor
    if kept:
        made["report"] = kept


def _first_status(conversion: Conversion) -> Attribution:
    if conversion.test:
        return Attribution.TEST
    return Attribution.NO_CLICK if conversion.click_id is None else Attribution.PENDING


@lru_cache(maxsize=CACHED_AMOUNTS)
def _money(text: str | None) -> Decimal128 | None:
    return None if text is None else Decimal128(Decimal(text))
