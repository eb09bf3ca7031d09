"""The world of attackers and visitors: accounts with keys, links, rules, and a proven domain."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from config.settings import Settings
from lab.abuse.attack import Owner, Target
from lab.processes import NotReady
from lab.requests import call
from lab.scene import Scene, add_account, open_services, prepare_load
from lab.traffic import COLD, HOT

DOMAIN: Final = "go.neighbour.example"
_SLUG: Final = "offer"
_OPERATOR: Final = "127.0.0.55"
_NAMES: Final = ("attacker", "neighbour", "guarded")

_RULES: Final = {
    "require_pbk": True,
    "no_negative_values": True,
    "max_value": 100,
    "max_per_click": 1,
}


class World(NamedTuple):
    """The visitors' scene, and the ids and API keys of accounts by name."""

    scene: Scene
    keys: dict[str, tuple[UUID, str]]

    async def target(self, settings: Settings, port: int, own_port: int) -> Target:
        """Make by the API what accounts make, and return the target.

        Raises NotReady if the service refuses anything.
        """
        owners = {name: await self._owner(port, name) for name in _NAMES}
        await self._guard(port)
        await self._prove(settings, port, owners["neighbour"])
        return Target(port=port, own_port=own_port, domain=DOMAIN, **owners)

    async def _owner(self, port: int, name: str) -> Owner:
        account_id, key = self.keys[name]
        config = {"name": "Sale", "payout_type": "CPA", "payout": 5}
        pbk = (await self._create(port, name, "POST", "/api/event-configs", config))["pbk"]
        link = {"destination_url": "https://shop.test/landing", "slug": f"{name}-{_SLUG}"}
        row = await self._create(port, name, "POST", "/api/short-links", link)
        return Owner(str(account_id), key, pbk, row["slug"])

    async def _guard(self, port: int) -> None:
        await self._create(port, "guarded", "PATCH", "/api/account", {"conversion_rules": _RULES})

    async def _prove(self, settings: Settings, port: int, owner: Owner) -> None:
        body = {"domain_name": DOMAIN}
        domain = await self._create(port, "neighbour", "POST", "/api/domains", body)
        async with open_services(settings) as services:
            await services.domains.verify(UUID(domain["id"]))
        link = {
            "destination_url": "https://shop.test/neighbour",
            "slug": owner.slug,
            "domain_id": domain["id"],
        }
        await self._create(port, "neighbour", "POST", "/api/short-links", link)

    async def _create(
        self, port: int, name: str, method: str, path: str, body: Mapping[str, object]
    ) -> Any:
        """Return the answer of the API. Raises NotReady if it refuses."""
        account_id, key = self.keys[name]
        content = {"accountId": str(account_id), **body}
        status, value = await call(port, key, method, path, content, _OPERATOR)
        if status != "200":
            raise NotReady(f"{method} {path} answered {status}: {value}")
        return value


async def build(settings: Settings) -> World:
    """Make the visitors' links and the accounts, in stores that answer."""
    visitors = await prepare_load(settings, HOT + COLD)
    async with open_services(settings) as services:
        return World(visitors, {name: await add_account(services, name) for name in _NAMES})
