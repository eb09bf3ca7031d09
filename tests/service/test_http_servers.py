"""The connections that an address may open, by the settings, and the end of all at a stop."""

import asyncio
import resource
import socket
from contextlib import AsyncExitStack

import pytest

from config.settings import Settings, read
from tests.live.watching import begun, connected
from tests.waiting import PATIENCE_SECONDS
from tracker.access.client_address import ClientAddress
from tracker.service import http_servers
from tracker.service.http_servers import RESERVED_FILES, make_admission, serve_requests
from tracker.service.services import Services

STRANGER, LOOPBACK, PROXY = "203.0.113.7", "127.0.0.1", "10.0.0.9"
PRODUCTION = {
    "ENV": "production",
    "REDIS_URL": "redis://redis",
    "MONGODB_URI": "mongodb://mongodb",
    "BASE_URL": "https://go.example",
    "ALLOW_INSECURE": "true",
}


def open_by(peer: str, settings: Settings) -> int:
    """Return how many of 3,000 connections `peer` may open."""
    admission = make_admission(settings, ClientAddress(settings.trusted_proxies))
    return sum(admission.admit(peer) for _ in range(3_000))


@pytest.mark.parametrize(
    ("variables", "peer", "limit"),
    [
        ({}, STRANGER, 512),
        ({}, LOOPBACK, 3_000),
        ({}, "::1", 3_000),
        ({}, "::ffff:127.0.0.1", 3_000),
        (PRODUCTION, LOOPBACK, 512),
        ({"CONNECTIONS_PER_ADDRESS": "7"}, STRANGER, 7),
        ({"CONNECTIONS_PER_ADDRESS": "0"}, STRANGER, 3_000),
        ({"TRUSTED_PROXIES": "10.0.0.0/8"}, PROXY, 3_000),
        ({"TRUSTED_PROXIES": "10.0.0.0/8"}, STRANGER, 512),
        ({"TRUSTED_PROXIES": "1"}, STRANGER, 3_000),
    ],
)
def test_one_address_is_limited_unless_it_is_a_proxy_or_local_in_development(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], peer: str, limit: int
) -> None:
    # Many systems allow 1,024 open files, and so 384 connections of an address.
    monkeypatch.setattr(resource, "getrlimit", lambda _: (20_000, 20_000))
    assert open_by(peer, read(variables)) == limit


def test_addresses_of_one_ipv6_network_share_a_limit() -> None:
    settings = read({"CONNECTIONS_PER_ADDRESS": "2"})
    admission = make_admission(settings, ClientAddress(""))
    assert [admission.admit(f"2001:db8::{number}") for number in range(3)] == [True, True, False]
    assert admission.admit("2001:db8:0:1::1")


def test_one_address_gets_half_of_the_connections_however_few_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        resource, "getrlimit", lambda _: (RESERVED_FILES + 100, RESERVED_FILES + 100)
    )
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    assert open_by(STRANGER, Settings()) == 50
    assert open_by(LOOPBACK, Settings()) == 100


async def test_a_stop_ends_live_streams_at_once_and_accepts_no_connections(
    settings: Settings, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = Services(settings)
    services.prepared.set()
    # Without its end a stream lasts for the whole time.
    monkeypatch.setattr(http_servers, "IN_FLIGHT_SECONDS", 10 * PATIENCE_SECONDS)
    account = await services.accounts.accounts.create("Acme")
    _, secret = await services.access.api_keys.create(account.id, "k")
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    stream = connected(address[1], account.id, f"Authorization: Bearer {secret}")
    async with AsyncExitStack() as server:
        await server.enter_async_context(serve_requests(services, [listening]))
        async with begun(stream) as watcher:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await server.aclose()
            assert await watcher.next("end") == {"reason": "stopping"}
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*address)
    await services.close()
