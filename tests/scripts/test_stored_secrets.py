"""Secrets of webhooks and second factors, as an operator counts, encrypts and decrypts them."""

import base64
import os

from tornado.platform.asyncio import AsyncIOLoop

from tests.factories import create_person, create_webhook
from tests.scripts.conftest import Run
from tests.web.person import have_totp
from tracker.ids import new_id
from tracker.service.services import Services

KEY, OTHER = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))


def test_secrets_are_counted_encrypted_moved_to_another_key_and_decrypted(
    run: Run, services: Services, io_loop: AsyncIOLoop
) -> None:
    async def store() -> None:
        await create_webhook(services, new_id())
        person, _ = await create_person(services), await create_person(services)
        await have_totp(services, person.id)

    io_loop.run_sync(store)

    def with_key(key: str) -> Run:
        return Run({**run.environment, "SECRET_KEY": key})

    def counted(**found: int) -> list[dict[str, int]]:
        return [{**dict.fromkeys(("plain", "key", "older_key", "unreadable"), 0), **found}]

    def done(**found: int) -> list[dict[str, int]]:
        return [{**dict.fromkeys(("rewritten", "changed", "unreadable"), 0), **found}]

    name = "stored_secrets"
    refused = run(name, "encrypt")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "SECRET_KEY: must be set" in refused.stderr
    assert with_key(KEY).rows(name, "status") == counted(plain=2)
    assert with_key(KEY).rows(name, "encrypt") == done(rewritten=2)
    both = with_key(f"{OTHER},{KEY}")
    assert both.rows(name, "status") == counted(older_key=2)
    assert both.rows(name, "encrypt") == done(rewritten=2)
    unreadable = with_key(KEY)(name, "decrypt")
    assert (unreadable.returncode, unreadable.stderr) == (1, "")
    assert with_key(OTHER).rows(name, "status") == counted(key=2)
    assert with_key(OTHER).rows(name, "decrypt") == done(rewritten=2)
    assert run.rows(name, "status") == counted(plain=2)
