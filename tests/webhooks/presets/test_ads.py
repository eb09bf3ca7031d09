"""What ad platforms answer, and payloads of several events."""

import json
from typing import Any
from uuid import UUID

import pytest

from tests.webhooks.presets.platforms import SETTINGS
from tracker.clock import now
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.webhooks.delivery import Attempt, Delivery, DeliveryStatus, Outcome, Preset
from tracker.webhooks.limits import MAX_PAYLOAD_BYTES
from tracker.webhooks.macros import Unfillable
from tracker.webhooks.payloads.content import DeliveryContent
from tracker.webhooks.presets.ads import MAX_EVENTS, check_platform, expanded, fitted_event, judged
from tracker.webhooks.sending.batches import batches
from tracker.webhooks.store import Webhook

WEBHOOK = Webhook(
    id=new_id(),
    account_id=new_id(),
    name="",
    target_url="https://a.example/",
    method="POST",
    payload_template="{}",
    preset=Preset.META,
    active=True,
    secret="",
    created_at=now(),
)


def outcome(answer: str, code: int = 200, error: str | None = None) -> Outcome:
    return Outcome(code=code, milliseconds=1, answer=answer, error=error, retry_after=None)


@pytest.mark.parametrize(
    ("preset", "answer", "events", "taken"),
    [
        (Preset.META, '{"events_received":2,"messages":[]', 2, True),
        (Preset.META, '{"events_received": 1}', 2, False),
        (Preset.META, "{}", 1, False),
        (Preset.TIKTOK, '{"message":"OK","code": 0,"data":{"code":1}}', 1, True),
        (Preset.TIKTOK, '{"code":0}', 50, True),
        (Preset.TIKTOK, '{"code":40002,"data":{"code":0}}', 1, False),
        (Preset.TIKTOK, '{"code":05}', 1, False),
        (Preset.TIKTOK, "", 1, False),
        (Preset.GOOGLE, '{\n "requestId": "1"\n}', 9, True),
        (Preset.GOOGLE, "{}", 1, False),
        (Preset.MICROSOFT, '{"eventsReceived":3}', 3, True),
        (Preset.MICROSOFT, '{"eventsReceived":0}', 1, False),
        (Preset.SLACK, "no", 1, True),
        (None, "", 1, True),
    ],
)
def test_a_platform_says_in_its_answer_that_it_has_taken_all(
    preset: Preset | None, answer: str, events: int, taken: bool
) -> None:
    found = judged(preset, outcome(answer), events)
    assert found.delivered is taken
    assert found.failure == (None if taken else "refused")
    refused = outcome(answer, 400)
    assert judged(preset, refused, events) is refused
    assert refused.failure == "4xx"


def test_an_event_of_nobody_is_not_told() -> None:
    def fitted(**person: Any) -> dict[str, Any]:
        event = {"event_id": "1", "n": None, "o": [{"a": ""}, {"b": 0}], "user_data": person}
        payload = json.dumps({"data": [event], "off": False}).encode()
        made: dict[str, Any] = json.loads(fitted_event(Preset.META, payload, None))
        return made

    event = {"event_id": "1", "o": [{"b": 0}], "user_data": {"em": ["h"]}}
    assert fitted(em=["h"], fbc=None, ph=[None]) == {"data": [event], "off": False}
    for person in ({}, {"fbc": "", "client_ip_address": "1", "client_user_agent": "x"}):
        with pytest.raises(Unfillable, match="neither an id of meta") as raised:
            fitted(**person)
        assert raised.value.failure == "untold"


def test_google_takes_changes_only_with_statuses_that_it_takes() -> None:
    template = expanded(Preset.GOOGLE, SETTINGS[Preset.GOOGLE])["payload_template"]
    both: Any = ("conversion", "conversion.updated")
    for statuses in ((), ("approved", "rejected")):
        with pytest.raises(BadRequest, match="google takes approved and refunded"):
            check_platform(Preset.GOOGLE, "POST", template, both, statuses)  # type: ignore[arg-type]
    check_platform(Preset.GOOGLE, "POST", template, both, ("approved", "refunded"))  # type: ignore[arg-type]


def delivery(*attempts: tuple[int | None, str | None]) -> Delivery:
    made = [
        Attempt(at=now(), milliseconds=1, code=code, answer="", error=error)
        for code, error in attempts
    ]
    return Delivery(
        id=new_id(),
        webhook_id=WEBHOOK.id,
        account_id=WEBHOOK.account_id,
        status=DeliveryStatus.DUE,
        created_at=now(),
        attempts=made,
    )


def content(event: Any, url: str = "https://a.example/", **outer: Any) -> DeliveryContent:
    payload = json.dumps({"data": [event], **outer})
    return DeliveryContent(payload=payload, url=url, headers={}, texts={}, shown_url=None)


def sizes(*claimed: tuple[Delivery, Any]) -> list[int]:
    webhooks: dict[UUID, Webhook] = {WEBHOOK.id: WEBHOOK}
    made = batches(claimed, webhooks)
    for one in made:
        whole = one.content()
        if isinstance(whole, DeliveryContent):
            assert len(whole.payload.encode()) <= MAX_PAYLOAD_BYTES
            assert len(json.loads(whole.payload)["data"]) == len(one.deliveries)
    return [len(one.deliveries) for one in made]


def test_only_requests_that_differ_in_their_events_are_sent_together() -> None:
    one = {"n": 1.10}
    fresh = [(delivery(), content(one)) for _ in range(MAX_EVENTS + 1)]
    assert sizes(*fresh) == [MAX_EVENTS, 1]
    assert sizes(fresh[0], (delivery(), content(one, "https://a.example/?b")), fresh[1]) == [2, 1]
    assert sizes(fresh[0], (delivery(), content(one, test="T")), fresh[1]) == [2, 1]
    assert sizes(fresh[0], (delivery(), Unfillable("x")), fresh[1]) == [2, 1]
    long = {"n": "x" * (MAX_PAYLOAD_BYTES // 4)}
    assert sizes(*((delivery(), content(long)) for _ in range(5))) == [2, 2, 1]


@pytest.mark.parametrize(
    ("attempt", "alone"),
    [
        ((400, None), True),
        ((422, None), True),
        ((200, "refused: meta has not taken it"), True),
        ((200, None), False),
        ((401, None), False),
        ((429, None), False),
        ((503, None), False),
        ((None, "timeout: x"), False),
    ],
)
def test_what_was_refused_is_sent_alone(
    attempt: tuple[int | None, str | None], alone: bool
) -> None:
    claimed = [(delivery(attempt), content({})) for _ in range(2)]
    assert sizes(*claimed) == ([1, 1] if alone else [2])
