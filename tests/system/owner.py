"""An account with a key, made in this process or by the operators' scripts."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import msgspec

from config.settings import read
from tests.factories import create_event_config
from tests.paths import ROOT
from tests.system.service import Response, Service
from tests.waiting import PROCESS_PATIENCE_SECONDS
from tracker.conversions.event_config import PayoutType
from tracker.service.services import Services
from tracker.stores.builtin.stores import attach_stores

Made = TypeVar("Made")


class Owner(NamedTuple):
    account_id: str
    key: str

    def create_link(self, service: Service, **fields: Any) -> Response:
        return self.post(
            service, "/api/short-links", **{"destination_url": "https://shop.test/p"} | fields
        )

    def create_webhook(self, service: Service, **fields: Any) -> dict[str, Any]:
        """Create a webhook; return it with its secret."""
        answer = self.post(service, "/api/webhooks", **fields)
        assert answer.status == 200, answer.body
        created: dict[str, Any] = answer.json
        return created

    def get(self, service: Service, path: str) -> Any:
        with service.client() as client:
            return client("GET", path, headers=self._headers).json

    def post(self, service: Service, path: str, **fields: Any) -> Response:
        with service.client() as client:
            return client("POST", path, {"accountId": self.account_id} | fields, self._headers)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}


def script(variables: Mapping[str, str], name: str, *arguments: str) -> list[dict[str, Any]]:
    """Return the output of `python -m scripts.<name> ... --json`."""
    done = subprocess.run(
        [sys.executable, "-m", f"scripts.{name}", *arguments, "--json"],
        cwd=ROOT,
        env=dict(variables),
        stdout=subprocess.PIPE,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
        check=True,
    )
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def scripted_owner(variables: Mapping[str, str]) -> Owner:
    """Create an account and its key as an operator does."""
    account_id = script(variables, "accounts", "create", "Acme Media")[0]["id"]
    key = script(variables, "api_keys", "create", "--account", account_id)[0]["key"]
    return Owner(account_id, key)


def scripted_event_config(variables: Mapping[str, str], owner: Owner, payout_type: str) -> str:
    """Create an event configuration as an operator does; return its postback key."""
    created = script(
        variables,
        "event_configs",
        "create",
        *("--account", owner.account_id, "--name", "Purchase"),
        *("--payout-type", payout_type, "--payout", "10"),
    )
    pbk: str = created[0]["pbk"]
    return pbk


def new_owner(variables: Mapping[str, str]) -> Owner:
    """Create an account and its key without the scripts, each of which costs a second."""

    async def create(services: Services) -> Owner:
        account = await services.accounts.accounts.create("Acme Media")
        _, key = await services.access.api_keys.create(account.id, "API key")
        return Owner(str(account.id), key)

    return made(variables, create)


def new_event_config(variables: Mapping[str, str], owner: Owner) -> str:
    """Create an event configuration without the scripts; return its postback key."""

    async def create(services: Services) -> str:
        account_id = UUID(owner.account_id)
        return (await create_event_config(services, account_id, PayoutType.CPA, "10")).pbk

    return made(variables, create)


def made(variables: Mapping[str, str], create: Callable[[Services], Awaitable[Made]]) -> Made:
    """Return what `create` makes in the stores that `variables` name."""

    async def run() -> Made:
        services = Services(msgspec.structs.replace(stores, base_url=stores.public_url))
        try:
            return await create(services)
        finally:
            await services.close()

    # A thread of its own, because the loop of the suite is the current one of this thread.
    with attach_stores(read(variables)) as stores, ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()
