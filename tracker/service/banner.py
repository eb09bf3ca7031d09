"""The banner of a started service. In a trial, with built-in stores, it has a first account and
commands to try.
"""

import contextlib
import shlex
from collections.abc import Mapping
from decimal import Decimal
from typing import Final
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker import __version__
from tracker.access.invitations import join_url
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.conversions.event_config import PayoutType
from tracker.errors import BadRequest
from tracker.links.link import NewLink
from tracker.service.services import Services

_SLUG = "demo"
_KEY_PLACEHOLDER = "<API_KEY>"
_BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
_AS_OWNER = (
    "-H \"Authorization: Bearer $API_KEY\" -H 'Content-Type: application/json' "
    '-d \'{"accountId": "\'$ACCOUNT_ID\'", '
)

COMMANDS: Final = (
    (
        "create a link",
        f"curl -s $BASE/api/short-links {_AS_OWNER}"
        '"destination_url": "https://example.com/offer"}\'',
    ),
    (
        "open a link, as a browser does (reports leave bots out, and curl is one)",
        f"curl -si -A '{_BROWSER}' \"$BASE/c/{_SLUG}?utm_source=newsletter\"",
    ),
    (
        "report a conversion (add &click_id= and the id from the Location above)",
        'curl -s "$BASE/api/event?pbk=$POSTBACK_KEY&value=12.50"',
    ),
    (
        "see the report of today, as soon as it has a conversion",
        f"for try in 1 2 3 4 5; do sleep 1; curl -s $BASE/api/reports {_AS_OWNER}"
        '"dateRange": {"from": "\'$(date -u +%F)\'", "to": "\'$(date -u +%F)\'"}, '
        '"groupBy": "link"}\' | grep -v \'"totals":{[^}]*"conversions":0,\' && break; done',
    ),
)
"""Pairs of purpose and command, for a newcomer to paste. The README has the same."""


async def show_banner(services: Services, is_trial: bool) -> None:
    """Print what to do next. A new key is printed here and nowhere else."""
    print(await _banner(services, is_trial), flush=True)


async def _banner(services: Services, is_trial: bool) -> str:
    url = services.settings.base_url
    if not is_trial:
        return f"tracker answers at {url}"
    try:
        account, key, pbk = await _first_account(services)
        console = await _console(services, account.id)
    except PyMongoError as error:
        return f"tracker answers at {url}, but MongoDB does not: {type(error).__name__}"
    # The port that answers `/docs`, as seen from this machine.
    port = services.settings.internal_port
    docs = f"http://localhost:{port}" if port else services.public_url.url
    values = command_values(url, account.id, key or _KEY_PLACEHOLDER, pbk)
    return _text(values, console, key, f"{docs}/docs")


async def _first_account(services: Services) -> tuple[Account, str | None, str]:
    """Return the account, its new key if it had none, and a postback key.

    Whatever is missing is made, so that a start completes an interrupted one.
    """
    accounts = await services.accounts.accounts.list()
    account = accounts[0] if accounts else await services.accounts.accounts.create("Demo")
    configs = await services.conversions.event_configs.list(account.id)
    config = (
        configs[0]
        if configs
        else await services.conversions.event_configs.create(
            account.id, "Purchase", PayoutType.REV_SHARE, Decimal(10)
        )
    )
    with contextlib.suppress(BadRequest):  # the slug is taken: an earlier start made the link
        await services.links.links.create(demo_link(account.id))
    key = None
    if not await services.access.api_keys.list(account.id):
        _, key = await services.access.api_keys.create(account.id, "first key")
    return account, key, config.pbk


async def _console(services: Services, account_id: UUID) -> str:
    """Return the console's line, with a new invitation while the account has no owner.

    Only the newest invitation is valid: an earlier start has printed its own somewhere.
    """
    url = services.public_url.url
    if await services.accounts.members.has_owner(account_id):
        return f"{url}/console"
    author = Author.operator(account_id)
    _, token = await services.accounts.membership.invite(author, None, Role.OWNER)
    return f"{join_url(url, token)}   (opens once, within 24 hours)"


def command_values(url: str, account_id: UUID, key: str, pbk: str) -> dict[str, str]:
    """Return the values of the variables in COMMANDS."""
    return {"BASE": url, "ACCOUNT_ID": str(account_id), "API_KEY": key, "POSTBACK_KEY": pbk}


def export_line(values: Mapping[str, str]) -> str:
    """Return the command that gives a shell the variables."""
    return "export " + " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())


def demo_link(account_id: UUID) -> NewLink:
    """Return the link that COMMANDS open."""
    return NewLink(
        account_id=account_id,
        destination_url="https://example.com/landing",
        internal_name="Demo link",
        slug=_SLUG,
        domain_id=None,
        domain_name="",
        tags=[],
    )


def _text(values: Mapping[str, str], console: str, new_key: str | None, docs: str) -> str:
    account = values["ACCOUNT_ID"]
    shown = (
        f"{new_key}   (shown once: keep it)"
        if new_key
        else "shown at the first start; a new one:\n                "
        f".venv/bin/python -m scripts.api_keys create --account {account}"
    )
    commands = "\n".join(
        f"  {about}\n    {_filled(command, values)}\n" for about, command in COMMANDS
    )
    return f"""
  tracker {__version__} answers at {values["BASE"]}   (Ctrl-C stops it; the data stays)

  console     {console}

  account     {account}
  API key     {shown}

{commands}
  what the README's commands use
    {export_line(values)}

  every endpoint, in a browser
    {docs}
"""


def _filled(command: str, values: Mapping[str, str]) -> str:
    """Return `command` with its variables replaced, so that it can be pasted alone."""
    for name, value in values.items():
        command = command.replace(f"'${name}'", value).replace(f"${name}", value)
    return command
