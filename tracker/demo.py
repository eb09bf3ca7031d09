"""The banner of a starting service; on a first start of the trial, with a first account to try."""

import contextlib
from decimal import Decimal
from uuid import UUID

from tracker.access.accounts import Account
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.db.connect import PyMongoError
from tracker.errors import BadRequest
from tracker.links.store import NewLink
from tracker.services import Services

_SLUG = "demo"
_KEY_LATER = "<API_KEY>"


class Banner:
    """`builtin_stores`: whether this is a trial, in which a first account may be made."""

    def __init__(self, builtin_stores: bool) -> None:
        self._builtin_stores = builtin_stores

    async def show(self, services: Services) -> None:
        """Print what to do next. A key that was made is printed here and nowhere else."""
        url = services.settings.base_url
        if not self._builtin_stores:
            _print(f"tracker answers at {url}")
            return
        try:
            account, key, pbk = await _first_account(services)
        except PyMongoError as error:
            _print(f"tracker answers at {url}, but MongoDB does not: {type(error).__name__}")
        else:
            _print(_text(url, account, key, pbk))


async def _first_account(services: Services) -> tuple[Account, str | None, str]:
    """The first account, its key if it had none, and a postback key. Makes what is missing, so
    that a first start that was interrupted is completed by the next."""
    accounts = await services.accounts.list()
    account = accounts[0] if accounts else await services.accounts.create("Demo")
    configs = await services.event_configs.list(account.id)
    config = configs[0] if configs else await _config(services, account.id)
    with contextlib.suppress(BadRequest):  # the slug is taken: it was made before
        await services.links.create(_link(account.id))
    key = None
    if not await services.api_keys.list(account.id):
        _, key = await services.api_keys.create(account.id, "first key")
    return account, key, config.pbk


async def _config(services: Services, account_id: UUID) -> EventConfig:
    return await services.event_configs.create(
        account_id, "Purchase", PayoutType.REV_SHARE, Decimal(10)
    )


def _link(account_id: UUID) -> NewLink:
    return NewLink(
        account_id=account_id,
        destination_url="https://example.com/landing",
        internal_name="Demo link",
        slug=_SLUG,
        domain_id=None,
        domain_name="",
        tags=[],
    )


def _text(url: str, account: Account, key: str | None, pbk: str) -> str:
    shown = f"{key}   (shown once: keep it)" if key else "shown at the first start; a new one:"
    another = (
        ""
        if key
        else f"\n                .venv/bin/python -m scripts.api_keys create --account {account.id}"
    )
    return f"""
  tracker answers at {url}   (Ctrl-C stops it; the data stays)

  account     {account.id}
  API key     {shown}{another}

  create a link
    curl -s {url}/api/short-links -H 'Authorization: Bearer {key or _KEY_LATER}' \
-H 'Content-Type: application/json' \
-d '{{"accountId": "{account.id}", "destination_url": "https://example.com/offer"}}'

  open a link
    curl -si '{url}/c/{_SLUG}?utm_source=newsletter'

  report a conversion (add &click_id= and the id from the Location above)
    curl -s '{url}/api/event?pbk={pbk}&value=12.50'
"""


def _print(text: str) -> None:
    print(text, flush=True)
