"""Samples of clicks and links have the fields that the documents show."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from tests.documents import WEBHOOKS, block
from tracker.webhooks.delivery import Kind
from tracker.webhooks.payloads.sample import sample_content
from tracker.webhooks.store import Webhook, template_text

TEMPLATE = template_text({name: f"{{{name}}}" for name in ("click_id", "slug", "country")})


def sample(kind: Kind) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": uuid4(), "account_id": uuid4(), "name": "A", "method": "POST"}
    fields |= {"active": True, "secret": "", "created_at": datetime.now(UTC)}
    target = "https://a.example/"
    webhook = Webhook(**fields, target_url=target, payload_template=TEMPLATE)
    found: dict[str, Any] = json.loads(sample_content(webhook, kind, "go.example").payload)
    return found


def test_clicks_are_told_as_the_document_shows() -> None:
    shown, made = json.loads(block(WEBHOOKS, '{"clicks"')), sample(Kind.CLICK_RECORDED)
    assert shown.keys() == made.keys()
    assert shown["clicks"][0].keys() == made["clicks"][0].keys()


def test_links_are_told_as_the_document_shows() -> None:
    shown, made = json.loads(block(WEBHOOKS, '{"type": "link.')), sample(Kind.LINK_CHANGED)
    assert shown.keys() == made.keys()
    assert shown["data"].keys() <= made["data"].keys()
    assert (made["data"]["changed"], shown["type"]) == (["internal_name"], "link.changed")
    assert sample(Kind.LINK_CREATED)["data"]["changed"] == []
