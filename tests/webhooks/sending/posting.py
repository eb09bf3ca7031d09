"""Requests of a webhook client."""

import time
from collections.abc import Sequence

from tests.webhooks.receiver import SECRET
from tracker.webhooks.payloads.target_template import TargetTemplate
from tracker.webhooks.sending.client import WebhookRequest
from tracker.webhooks.sending.signing import signed_request

PAYLOAD = b'{"id":"\xc3\xbc","v":12.50}'


def request(
    url: str, method: str = "POST", secrets: Sequence[str] = (SECRET,), payload: bytes = PAYLOAD
) -> WebhookRequest:
    at = int(time.time())
    return signed_request(method, TargetTemplate(url).fill({}), payload, "0123abcd", at, secrets)
