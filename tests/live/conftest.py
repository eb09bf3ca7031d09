"""An account whose streams are watched."""

import pytest
from tornado.platform.asyncio import AsyncIOLoop

from tracker.accounts.accounts import Account
from tracker.service.services import Services


@pytest.fixture
def account(services: Services, io_loop: AsyncIOLoop) -> Account:
    made: Account = io_loop.run_sync(lambda: services.accounts.accounts.create("Acme"))
    return made
