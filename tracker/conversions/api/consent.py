"""`/api/consent`: what a visitor answers whom a landing page asks for consent."""

from typing import Literal
from uuid import UUID

import msgspec

from tracker.conversions.api.event import EventHandler, retry_headers
from tracker.conversions.api.event_schema import CONSENT_ANSWERS, CONSENT_BODY, preflight
from tracker.errors import TrackerError
from tracker.web.endpoint import HandledEndpoint
from tracker.web.handler import json_error
from tracker.web.limits import MAX_SIGN_IN_BYTES
from tracker.web.parameters import parse_body


class Consent(msgspec.Struct, forbid_unknown_fields=True):
    """The answer about a click."""

    click_id: UUID
    consent: Literal["granted", "denied"]


class ConsentHandler(EventHandler):
    """The handler of `/api/consent`. Origins are as free as with conversions."""

    body_bytes = MAX_SIGN_IN_BYTES

    async def post(self) -> None:
        sent = parse_body(Consent, self.body()).value
        await self.services.consents.record(sent.click_id, sent.consent, self.client_address())
        self.answer({"success": True})

    def finish_error(self, error: TrackerError) -> None:
        for name, value in retry_headers(error):
            self.set_header(name, value)
        self.finish_with(json_error(error))


_TITLE = "Record a visitor's answer about a click; the last one counts"
_OPTIONS_TITLE = "CORS preflight: pages of any origin may send answers"
_ROW = HandledEndpoint(
    *("POST", "/api/consent", ConsentHandler, "recordConsent", "Conversions", _TITLE),
    answers=CONSENT_ANSWERS,
    body=CONSENT_BODY,
)
ENDPOINTS = (
    _ROW,
    _ROW._replace(
        method="OPTIONS",
        operation_id="getConsentOptions",
        summary=_OPTIONS_TITLE,
        answers=preflight("POST, OPTIONS"),
        body=None,
    ),
)
