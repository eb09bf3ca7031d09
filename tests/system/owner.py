"""An account with a key, made by the operators' scripts."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.system.service import Response, Service
from tests.test_import_order import ROOT


class Owner(NamedTuple):
    account_id: str
    key: str

    def create_link(self, service: Service, **fields: Any) -> Response:
        return self._post(
            service, "/api/short-links", **{"destination_url": "https://shop.test/p"} | fields
        )

    def create_webhook(self, service: Service, **fields: Any) -> dict[str, Any]:
        """Create a webhook; return it with its secret."""
        answer = self._post(service, "/api/webhooks", **fields)
        assert answer.status == 200, answer.body
        created: dict[str, Any] = answer.json
        return created

    def get(self, service: Service, path: str) -> Any:
        with service.client() as client:
            return client("GET", path, headers=self._headers).json

    def _post(self, service: Service, path: str, **fields: Any) -> Response:
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
        timeout=60,
        check=True,
    )
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def new_owner(variables: Mapping[str, str]) -> Owner:
    account_id = script(variables, "accounts", "create", "Acme Media")[0]["id"]
    key = script(variables, "api_keys", "create", "--account", account_id)[0]["key"]
    return Owner(account_id, key)


def new_event_config(variables: Mapping[str, str], owner: Owner, payout_type: str = "CPA") -> str:
    """Create an event configuration; return its postback key."""
    created = script(
        variables,
        "event_configs",
        "create",
        *("--account", owner.account_id, "--name", "Purchase"),
        *("--payout-type", payout_type, "--payout", "10"),
    )
    pbk: str = created[0]["pbk"]
    return pbk
