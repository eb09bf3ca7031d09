"""An attack's world and means. Target and report cross a pipe between processes as JSON."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from ipaddress import IPv4Address
from itertools import count
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
import orjson

from config.settings import Settings
from lab.client import Load
from lab.many_values import store_day
from lab.processes import NotReady
from lab.requests import ask, call, head
from lab.scene import Scene, add_account, open_services, prepare_load
from lab.traffic import COLD_LINKS, HOT_LINKS, CountedAnswers, Paced
from tracker.access.roles import Role

ATTACKER_ADDRESS: Final = "127.0.0.66"
"""The address of attacks. Linux answers on all of 127.0.0.0/8, so that limits by address meet the
attacker and not the visitors."""

DOMAIN: Final = "go.neighbour.example"
_SLUG: Final = "offer"
PROTECTED: Final = "/c/protected"
_OPERATOR_ADDRESS: Final = "127.0.0.55"
VALUES_DAY: Final = date(2026, 1, 1)
"""A day on which strangers gave every click of the attacker's account another campaign."""

PASSWORD: Final = "correct horse battery staple"  # noqa: S105
_EMAIL: Final = "ada@neighbour.example"
"""Of a person of the neighbour's account, who signs in from an address that others share."""

_SHARED_ADDRESS: Final = "198.51.100.7"
_FIRST_ADDRESS: Final = IPv4Address("198.18.0.0")
_ADDRESSES: Final = count()

_NAMES: Final = ("attacker", "neighbour", "guarded")

_RULES = {"require_pbk": True, "no_negative_values": True, "max_value": 100, "max_per_click": 1}


class Owner(msgspec.Struct, frozen=True):
    """An account as its owner knows it: `slug` names one of its links, `pbk` is a postback key."""

    account_id: str
    key: str
    pbk: str
    slug: str


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The service under attack; `own_port` is that of a web process for a single attack."""

    port: int
    own_port: int
    attacker: Owner
    neighbour: Owner
    guarded: Owner
    domain: str


class World(NamedTuple):
    """The visitors' scene, and the ids and API keys of accounts by name."""

    scene: Scene
    keys: dict[str, tuple[UUID, str]]

    async def target(self, settings: Settings, port: int, own_port: int) -> Target:
        """Create the objects of the accounts through the API, and return the target."""
        owners = {name: await self._owner(port, name) for name in _NAMES}
        await self._guard(port)
        await self._prove(settings, port, owners["neighbour"])
        await self._sign_in(port)
        return Target(port=port, own_port=own_port, domain=DOMAIN, **owners)

    async def _owner(self, port: int, name: str) -> Owner:
        account_id, key = self.keys[name]
        config = {"name": "Sale", "payout_type": "CPA", "payout": 5}
        pbk = (await self._create(port, name, "/api/event-configs", config))["pbk"]
        link = {"destination_url": "https://shop.test/landing", "slug": f"{name}-{_SLUG}"}
        row = await self._create(port, name, "/api/short-links", link)
        return Owner(str(account_id), key, pbk, row["slug"])

    async def _guard(self, port: int) -> None:
        await self._create(port, "guarded", "/api/account", {"conversion_rules": _RULES}, "PATCH")
        for slug in (PROTECTED[3:], "second"):  # from the second on, a thread keeps a hash's memory
            link = {"destination_url": "https://shop.test/", "slug": slug, "password": PASSWORD}
            await self._create(port, "guarded", "/api/short-links", link)

    async def _prove(self, settings: Settings, port: int, owner: Owner) -> None:
        body = {"domain_name": DOMAIN}
        domain = await self._create(port, "neighbour", "/api/domains", body)
        async with open_services(settings) as services:
            await services.links.domains.verify(UUID(domain["id"]))
        url = "https://shop.test/neighbour"
        link = {"destination_url": url, "slug": owner.slug, "domain_id": domain["id"]}
        await self._create(port, "neighbour", "/api/short-links", link)

    async def _sign_in(self, port: int) -> None:
        """Let the person sign in, so often that both threads have the memory that hashes take."""
        statuses = await asyncio.gather(*(signs_in(port, ATTACKER_ADDRESS) for _ in range(8)))
        if set(statuses) != {"200"}:
            raise NotReady(f"the person's sign-ins were answered {statuses}")

    async def _create(
        self, port: int, name: str, path: str, fields: Mapping[str, object], method: str = "POST"
    ) -> Any:
        account_id, key = self.keys[name]
        body = {"accountId": str(account_id), **fields}
        return await made(port, key, path, body, _OPERATOR_ADDRESS, method)


async def build(settings: Settings, values: int) -> World:
    """Make the visitors' links, and the accounts; the attacker has a day of so many `values`."""
    visitors = await prepare_load(settings, HOT_LINKS + COLD_LINKS)
    async with open_services(settings) as services:
        keys = {name: await add_account(services, name) for name in _NAMES}
        hashed = await services.accounts.passwords.hash(PASSWORD)
        person = await services.accounts.people.create(_EMAIL, "Ada", hashed)
        await services.accounts.members.add(keys["neighbour"][0], person.id, Role.OWNER)
        await store_day(services.stores.mongodb.database, keys["attacker"][0], VALUES_DAY, values)
        return World(visitors, keys)


class Report(msgspec.Struct, kw_only=True):
    """The answers to an attack by status, and what the attacker should not have got."""

    answers: dict[str, int] = msgspec.field(default_factory=dict)
    findings: list[str] = msgspec.field(default_factory=list)


async def made(
    port: int,
    key: str,
    path: str,
    body: Mapping[str, object],
    source: str | None = None,
    method: str = "POST",
) -> Any:
    """Return what a request has made. Raises NotReady if it is refused."""
    status, value = await call(port, key, method, path, body, source)
    if status != "200":
        raise NotReady(f"{method} {path} answered {status}: {value}")
    return value


def from_new_address() -> dict[str, str]:
    """Return the header of another client each time, so that no limit by address answers."""
    return {"X-Forwarded-For": str(_FIRST_ADDRESS + next(_ADDRESSES))}


async def barrage(
    port: int,
    make: Callable[[], bytes],
    rate: float,
    seconds: float,
    allowed: set[str],
    connections: int = 16,
) -> Report:
    """Send what `make` returns, `rate` times a second; an answer not `allowed` is a finding."""
    answers = CountedAnswers(iter(make, b""))
    load = Load(port, answers, connections, [ATTACKER_ADDRESS])
    result = await load.run(Paced(time.perf_counter(), seconds, rate))
    return counted(answers.counts + Counter(result.errors), allowed)


def counted(answers: Mapping[str, int], allowed: set[str]) -> Report:
    findings = [
        f"{count:,} answers {kind}"
        for kind, count in sorted(answers.items())
        if kind not in allowed
    ]
    return Report(answers=dict(answers), findings=findings)


async def report(
    port: int, owner: Owner, asked: Mapping[str, Any], path: str = "", source: str | None = None
) -> tuple[str, Any]:
    """Return the status and the decoded report of the account's day, unless others are `asked`."""
    body = {"accountId": owner.account_id, "dateRange": one_day(datetime.now(UTC).date()), **asked}
    return await call(port, owner.key, "POST", f"/api/reports{path}", body, source)


def one_day(day: date) -> dict[str, str]:
    return {"from": f"{day}", "to": f"{day}"}


async def conversions(port: int, owner: Owner) -> int | None:
    status, found = await report(port, owner, {"groupBy": "country"})
    return int(found["totals"]["conversions"]) if status == "200" else None


async def signs_in(port: int, source: str) -> str:
    """Let the person sign in through the proxy at `source`, and return the status."""
    return (await ask(port, attempt(port, _EMAIL, PASSWORD), source))[9:12].decode()


def attempt(port: int, email: str, password: str) -> bytes:
    """Return a sign-in as a page of the console sends it, through a proxy."""
    fields = {"email": email, "password": password}
    client = {"X-Forwarded-For": _SHARED_ADDRESS}
    return from_console(port, "POST", "/api/sign-in", fields, client)


def from_console(
    port: int,
    method: str,
    path: str,
    fields: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
) -> bytes:
    own = {"Host": f"localhost:{port}", "Sec-Fetch-Site": "same-origin"}
    body = orjson.dumps(fields) if fields else b""
    own |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return head(method, path, {**own, **(headers or {})}) + body
