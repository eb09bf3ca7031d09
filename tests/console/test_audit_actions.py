"""The actions that the audit page offers are those that the service writes."""

import re
from typing import Final

from tests.paths import FILES
from tracker.console.assets import STATIC

KINDS: Final = (
    "account|api_key|cost|conversion|domain|event_config|invitation|mcp|member|password"
    "|password_reset|person|recovery_code|session|short_link|tag|totp|webhook"
)


def test_every_action_that_is_written_can_be_picked() -> None:
    action = re.compile(rf'"((?:{KINDS})\.[a-z_]+)"')
    written = {one for path in FILES for one in action.findall(path.read_text(encoding="utf-8"))}
    page = (STATIC / "pages/settings-audit.js").read_text(encoding="utf-8")
    # Kinds of operational messages to webhooks have names of the same form.
    assert set(action.findall(page)) == written - {
        *("webhook.disabled", "conversion.recorded", "conversion.updated")
    }
