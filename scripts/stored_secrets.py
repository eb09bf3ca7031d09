"""Count the secrets in MongoDB by their encryption, and encrypt or decrypt them.

They are signing secrets and headers of webhooks, and the secrets of people's second factors.
"""

import argparse
from collections import Counter
from collections.abc import Callable
from uuid import UUID

from scripts.command import Command, OutputRow
from tracker.errors import TrackerError
from tracker.service.services import Services
from tracker.stores.mongodb.reseal import SealedFields, count_secrets, rewrite_secrets
from tracker.stores.secret_box import SecretBox

_EXAMPLES = (
    "python -m scripts.stored_secrets status",
    "SECRET_KEY=<NEW>,<OLD> python -m scripts.stored_secrets encrypt",
    "python -m scripts.stored_secrets decrypt",
)


def _sealed(services: Services) -> tuple[SealedFields, ...]:
    return (
        services.webhooks.webhooks.sealed_fields,
        services.accounts.second_factor.sealed_fields,
        services.web.answers.sealed_fields,
    )


async def _status(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    found = Counter[str]()
    for one in _sealed(services):
        found += await count_secrets(services.stores.mongodb.database, one)
    return [{name: found[name] for name in ("plain", "key", "older_key", "unreadable")}]


async def _encrypt(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    if not services.settings.secret_keys:
        raise TrackerError("SECRET_KEY: must be set to encrypt with; openssl rand -base64 32")
    return [await _rewrite(services, lambda box: box.seal)]


async def _decrypt(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    return [await _rewrite(services, lambda _: lambda _, secret: secret)]


async def _rewrite(
    services: Services, conversion: Callable[[SecretBox], Callable[[UUID, str], str]]
) -> OutputRow:
    found = Counter[str]()
    for one in _sealed(services):
        found += await rewrite_secrets(services.stores.mongodb.database, one, conversion(one.box))
    return {name: found[name] for name in ("rewritten", "changed", "unreadable")}


def main() -> None:
    command = Command(
        "stored_secrets",
        "Count the secrets of webhooks (signing, headers) and of second factors by their "
        "encryption: plain, with the first key of SECRET_KEY, with an older key, or unreadable "
        "with all keys that are set. Encrypt them with the first key, or store them plain again. "
        "Meanwhile the service reads every form.",
        "\n  ".join(_EXAMPLES),
    )
    command.action("status", "count secrets by their encryption", _status)
    command.action("encrypt", "encrypt every secret with the first key", _encrypt)
    command.action("decrypt", "store every secret plain, to run without SECRET_KEY", _decrypt)
    command.main(is_wrong=lambda row: bool(row["unreadable"]))


if __name__ == "__main__":
    main()
