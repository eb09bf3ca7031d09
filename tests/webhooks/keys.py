"""Keys that encrypt secrets of webhooks."""

import os

from tests.rooms import replace_parts
from tracker.service.services import Services
from tracker.stores.secret_box import Purpose, SecretBox
from tracker.webhooks.store import Webhooks

KEY, NEW_KEY = os.urandom(32), os.urandom(32)


def use_keys(services: Services, *keys: bytes) -> None:
    """Use these keys, as a service started with them does."""
    webhooks = Webhooks(
        services.stores.mongodb, SecretBox(keys, Purpose.WEBHOOK), services.webhooks.queue
    )
    replace_parts(services, "webhooks", webhooks=webhooks)
