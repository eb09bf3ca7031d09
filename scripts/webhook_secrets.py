"""Count the signing secrets of webhooks by how they are stored, and encrypt or decrypt them."""

import argparse
from collections import Counter

from scripts.command import Command, Row
from tracker.errors import TrackerError
from tracker.service.services import Services
from tracker.webhooks.reseal import count_secrets, rewrite_secrets

_EXAMPLES = (
    "python -m scripts.webhook_secrets status",
    "SECRET_KEY=<NEW>,<OLD> python -m scripts.webhook_secrets encrypt",
    "python -m scripts.webhook_secrets decrypt",
)


async def _status(services: Services, parsed: argparse.Namespace) -> list[Row]:
    found = await count_secrets(services.database, services.secret_box)
    return [{name: found[name] for name in ("plain", "key", "older_key", "unreadable")}]


async def _encrypt(services: Services, parsed: argparse.Namespace) -> list[Row]:
    box = services.secret_box
    if not box.encrypts:
        raise TrackerError("SECRET_KEY: must be set to encrypt with; openssl rand -base64 32")
    return [_row(await rewrite_secrets(services.database, box, box.seal))]


async def _decrypt(services: Services, parsed: argparse.Namespace) -> list[Row]:
    done = await rewrite_secrets(services.database, services.secret_box, lambda _, secret: secret)
    return [_row(done)]


def _row(found: Counter[str]) -> Row:
    return {name: found[name] for name in ("rewritten", "changed", "unreadable")}


def main() -> None:
    """Run the command."""
    command = Command(
        "webhook_secrets",
        "Count the signing secrets of webhooks by how they are stored: plain, with the first key "
        "of SECRET_KEY, with an older key, or unreadable with the keys that are set. Encrypt them "
        "with the first key, or store them plain again. The service can read every form meanwhile.",
        "\n  ".join(_EXAMPLES),
    )
    command.action("status", "count secrets by how they are stored", _status)
    command.action("encrypt", "encrypt every secret with the first key", _encrypt)
    command.action("decrypt", "store every secret plain, to run without SECRET_KEY", _decrypt)
    command.main(is_wrong=lambda row: bool(row["unreadable"]))


if __name__ == "__main__":
    main()
