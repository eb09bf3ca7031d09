"""A limit of time, told from a MongoDB that does not answer."""

import pymongo
import pytest
from pymongo.errors import AutoReconnect, ExecutionTimeout, NetworkTimeout

from tests.suspended import suspended
from tracker.service.services import Services
from tracker.stores.mongodb.time_limit import TimeLimits, is_time_limit

pytestmark = pytest.mark.redis


async def test_an_operation_that_a_mongodb_which_answers_does_not_end_in_time_is_a_limit_of_time(
    services: Services,
) -> None:
    """The driver has given up before MongoDB has said so."""
    with pytest.raises(ExecutionTimeout) as raised:
        async with TimeLimits(services.stores.mongodb.database):
            raise NetworkTimeout("timed out")
    assert is_time_limit(raised.value)


async def test_a_mongodb_that_hangs_is_unavailable(services: Services) -> None:
    pid = (await services.stores.mongodb.client.admin.command("serverStatus"))["pid"]
    with suspended(pid), pytest.raises(AutoReconnect) as raised:
        async with TimeLimits(services.stores.mongodb.database):
            with pymongo.timeout(0.2):
                await services.stores.mongodb["links"].find_one({})
    assert isinstance(raised.value.__cause__, NetworkTimeout)
    assert not is_time_limit(raised.value)
