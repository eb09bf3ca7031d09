"""Signing secrets, as an operator counts, encrypts and decrypts them."""

import base64
import os

from tornado.platform.asyncio import AsyncIOLoop

from tests.factories import create_webhook
from tests.scripts.conftest import Run
from tracker.ids import new_id
from tracker.service.services import Services

KEY, OTHER = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))


def test_secrets_are_counted_encrypted_moved_to_another_key_and_decrypted(
    run: Run, services: Services, io_loop: AsyncIOLoop
) -> None:
    io_loop.run_sync(lambda: create_webhook(services, new_id()))

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
    assert with_key(KEY).rows(name, "status") == counted(plain=1)
    assert with_key(KEY).rows(name, "encrypt") == done(rewritten=1)
    both = with_key(f"{OTHER},{KEY}")
    assert both.rows(name, "status") == counted(older_key=1)
    assert both.rows(name, "encrypt") == done(rewritten=1)
    unreadable = with_key(KEY)(name, "decrypt")
    assert (unreadable.returncode, unreadable.stderr) == (1, "")
    assert with_key(OTHER).rows(name, "status") == counted(key=1)
    assert with_key(OTHER).rows(name, "decrypt") == done(rewritten=1)
    assert run.rows(name, "status") == counted(plain=1)
