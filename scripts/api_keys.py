"""Create, list and revoke API keys."""

import argparse
import re
from collections.abc import Sequence
from datetime import timedelta

from scripts.command import Command, OutputRow, add_account, display_name, require_account, uuid
from tracker.access.api_keys import ApiKey
from tracker.access.audit import AuditObject
from tracker.access.principal import EVERY_SCOPE, Author
from tracker.clock import iso, now
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import MongoSession


async def _create(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    await require_account(services, parsed.account)
    expires_at = now() + timedelta(days=parsed.expires_days) if parsed.expires_days else None
    key, secret = await services.access.api_keys.create(
        parsed.account, parsed.name, parsed.scopes, expires_at
    )
    await _record(services, key, "api_key.created")
    return [{"key": secret, **_row(key)}]


async def _list(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    await require_account(services, parsed.account)
    return [_row(key) for key in await services.access.api_keys.list(parsed.account)]


async def _revoke(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    async def approve(ended: Sequence[ApiKey], session: MongoSession) -> None:
        for key in ended:
            await _record(services, key, "api_key.revoked", session)

    key, ended = await services.access.api_keys.revoke(
        parsed.id, approve, with_descendants=parsed.descendants
    )
    return [_row(key), *(_row(one) for one in ended if one.id != key.id)]


async def _record(
    services: Services, key: ApiKey, action: str, session: MongoSession | None = None
) -> None:
    target = AuditObject(kind="api_key", id=key.id, name=key.name)
    author = Author.operator(key.account_id)
    await services.access.audit.record(author, action, target, session=session)


def _row(key: ApiKey) -> OutputRow:
    return {
        "id": key.id,
        "account_id": key.account_id,
        "name": key.name,
        "prefix": key.prefix,
        "scopes": "all" if key.scopes is None else " ".join(key.scopes),
        "created_at": iso(key.created_at),
        "last_used_at": key.last_used_at and iso(key.last_used_at),
        "expires_at": key.expires_at and iso(key.expires_at),
        "revoked_at": key.revoked_at and iso(key.revoked_at),
        "parent_id": key.parent_id,
    }


def _scopes(text: str) -> list[str]:
    scopes = re.split(r"[,\s]+", text.strip())
    for one in scopes:
        if one not in EVERY_SCOPE:
            known = ", ".join(EVERY_SCOPE)
            raise argparse.ArgumentTypeError(f"{one!r} is no scope; scopes are {known}")
    return scopes


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 3650:
        raise argparse.ArgumentTypeError("1 to 3650 days")
    return int(text)


def main() -> None:
    command = Command(
        "api_keys",
        "Create, list and revoke API keys. A key is printed only once, when it is created.",
        "python -m scripts.api_keys create --account 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b "
        "--name reporting --scopes reports:read,links:read",
    )
    create = command.action("create", "create a key and print it", _create)
    add_account(create)
    create.add_argument("--name", type=display_name, default="API key", help="name for people")
    create.add_argument(
        *("--scopes", "--scope"),
        dest="scopes",
        action="extend",
        type=_scopes,
        metavar="SCOPE,SCOPE",
        help="scopes of the key; repeat the option or separate them by commas; without it, all: "
        + ", ".join(EVERY_SCOPE),
    )
    create.add_argument(
        "--expires-days", type=_days, metavar="DAYS", help="days until it expires [never]"
    )
    add_account(command.action("list", "list an account's keys, newest first", _list))
    revoke = command.action("revoke", "revoke a key, at once and for good", _revoke)
    revoke.add_argument("id", type=uuid, metavar="ID", help="id of the key")
    revoke.add_argument(
        "--descendants",
        action="store_true",
        help="also revoke its valid descendants: keys created with it, with those, and so on",
    )
    command.main()


if __name__ == "__main__":
    main()
