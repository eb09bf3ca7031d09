"""The service as the proxies in front of it are configured for."""

from collections.abc import Iterator

import pytest
from tornado.platform.asyncio import AsyncIOLoop

from config.settings import Settings
from tests.factories import create_link
from tests.ops.proxied import BASE_HOST, PROVEN, UNPROVEN, Proxied
from tests.ports import free_port
from tests.system.service import environment, running
from tracker.service.services import Services


@pytest.fixture
def proxied(settings: Settings, services: Services, io_loop: AsyncIOLoop) -> Iterator[Proxied]:
    async def prepare() -> None:
        account = await services.accounts.accounts.create("Acme")
        await create_link(services, account.id, slug="abc")
        await services.links.domains.create(account.id, UNPROVEN)
        await services.links.domains.verify(
            (await services.links.domains.create(account.id, PROVEN)).id
        )

    io_loop.run_sync(prepare)
    internal = free_port()
    variables = environment(
        settings,
        ENV="production",
        ALLOW_INSECURE="true",
        HOST="127.0.0.1",
        PORT=str(port := free_port()),
        INTERNAL_PORT=str(internal),
        BASE_URL=f"https://{BASE_HOST}:{port}",
        TRUSTED_PROXIES="1",
        STORE_IP="true",
    )
    with running(variables):
        yield Proxied(port, internal)
