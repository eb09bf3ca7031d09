"""What visitors and attackers find: accounts with keys, links, rules, and a proven domain."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from config.settings import Settings
from lab.abuse.talk import call
from lab.abuse.target import Owner, Target
from lab.abuse.visitors import COLD, HOT
from lab.load import scene
from lab.load.scene import Scene
from lab.processes import NotReady
from tracker.service.services import Services

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
    """`scene` is the visitors', `keys` are account ids and API keys by the names of accounts."""

    scene: Scene
    keys: dict[str, tuple[UUID, str]]

    async def target(self, settings: Settings, port: int, own_port: int) -> Target:
        """Have the running service make what accounts make by its API. Raises NotReady."""
        owners = {name: await self._owner(port, name) for name in _NAMES}
        await self._guard(port)
        await self._prove(settings, port, owners["neighbour"])
        return Target(port=port, own_port=own_port, domain=DOMAIN, **owners)

    async def _owner(self, port: int, name: str) -> Owner:
        account_id, key = self.keys[name]
        config = {"name": "Sale", "payout_type": "CPA", "payout": 5}
        pbk = (await self._made(port, name, "POST", "/api/event-configs", config))["pbk"]
        link = {"destination_url": "https://shop.test/landing", "slug": f"{name}-{_SLUG}"}
        row = await self._made(port, name, "POST", "/api/short-links", link)
        return Owner(str(account_id), key, pbk, row["slug"])

    async def _guard(self, port: int) -> None:
        await self._made(port, "guarded", "PATCH", "/api/account", {"conversion_rules": _RULES})

    async def _prove(self, settings: Settings, port: int, owner: Owner) -> None:
        body = {"domain_name": DOMAIN}
        domain = await self._made(port, "neighbour", "POST", "/api/domains", body)
        services = Services(settings)
        try:
            await services.domains.verify(UUID(domain["id"]))
        finally:
            await services.close()
        link = {
            "destination_url": "https://shop.test/neighbour",
            "slug": owner.slug,
            "domain_id": domain["id"],
        }
        await self._made(port, "neighbour", "POST", "/api/short-links", link)

    async def _made(
        self, port: int, name: str, method: str, path: str, body: Mapping[str, object]
    ) -> Any:
        """Return what the API answers. Raises NotReady if it refuses."""
        account_id, key = self.keys[name]
        content = {"accountId": str(account_id), **body}
        status, value = await call(port, key, method, path, content, _OPERATOR)
        if status != "200":
            raise NotReady(f"{method} {path} answered {status}: {value}")
        return value


async def build(settings: Settings) -> World:
    """Make the visitors' links and the accounts, in stores that answer."""
    visitors = await scene.prepare(settings, HOT + COLD)
    services = Services(settings)
    try:
        keys = {}
        for name in _NAMES:
            account = await services.accounts.create(name)
            _, key = await services.api_keys.create(account.id, name)
            keys[name] = account.id, key
    finally:
        await services.close()
    return World(visitors, keys)
