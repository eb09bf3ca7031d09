"""Tests of every endpoint. Those of a resource share a world: its setup takes longer than they."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from itertools import groupby

import pytest

from tests.web.world import World
from tracker.access.rate_limit import LimitScope
from tracker.web.endpoint import Endpoint

Test = Callable[..., Awaitable[None]]
_MANY = 1_000_000


def each(endpoints: Iterable[Endpoint]) -> Callable[[Test], Test]:
    """Run a test of `world` and `endpoint` for each endpoint, in accounts of its own.

    A failure names the endpoint.
    """
    ordered = sorted(endpoints, key=_resource)
    groups = [pytest.param([*some], id=name) for name, some in groupby(ordered, _resource)]

    def decorate(test: Test) -> Test:
        async def of_each(world: World, endpoints: Iterable[Endpoint], **others: object) -> None:
            limiter = world.services.access.rate_limiter
            limiter._ip = LimitScope("ip", _MANY, 60)
            limiter._account = LimitScope("account", _MANY, 3600)
            for endpoint in endpoints:
                try:
                    await test(world=await world.anew(), endpoint=endpoint, **others)
                except BaseException as error:
                    error.add_note(f"endpoint: {endpoint.method} {endpoint.path}")
                    raise

        functools.update_wrapper(of_each, test)
        taken = inspect.signature(test).parameters
        given = [one for name, one in taken.items() if name not in ("world", "endpoint")]
        own = [*inspect.signature(of_each, follow_wrapped=False).parameters.values()][:2]
        of_each.__signature__ = inspect.Signature([*own, *given])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("endpoints", groups)(of_each)

    return decorate


def _resource(endpoint: Endpoint) -> str:
    return endpoint.path.split("/")[2]
