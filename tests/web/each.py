"""Tables of cases in one world, whose setup takes longer than most of them."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import pytest

from tests.web.world import World
from tracker.access.rate_limit import LimitScope, RateLimiter
from tracker.web.endpoint import Endpoint

Test = Callable[..., Awaitable[None]]
_MANY = 1_000_000


def each_case(names: str, cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test for each case, as `parametrize` does, but in one world: no case may change it."""
    named = [name.strip() for name in names.split(",")]

    def decorate(test: Test) -> Test:
        async def of_each(**fixtures: Any) -> None:
            _unlimited(fixtures)
            for case in cases:
                values = case if len(named) > 1 else [case]
                await _run(test, fixtures, dict(zip(named, values, strict=True)))

        return _with_fixtures(of_each, test, named)

    return decorate


def each(endpoints: Iterable[Endpoint]) -> Callable[[Test], Test]:
    """Run a test of `world` and `endpoint` for each endpoint, in accounts of its own.

    Those of a resource share a world.
    """
    ordered = sorted(endpoints, key=_resource)
    groups = [pytest.param([*some], id=name) for name, some in groupby(ordered, _resource)]

    def decorate(test: Test) -> Test:
        async def of_each(world: World, endpoints: Iterable[Endpoint], **fixtures: Any) -> None:
            _unlimited({"world": world})
            for endpoint in endpoints:
                await _run(test, {**fixtures, "world": await world.anew()}, {"endpoint": endpoint})

        found = _with_fixtures(of_each, test, ["endpoint"], ["endpoints"])
        return pytest.mark.parametrize("endpoints", groups)(found)

    return decorate


async def _run(test: Test, fixtures: Mapping[str, Any], case: Mapping[str, Any]) -> None:
    try:
        await test(**fixtures, **case)
    except BaseException as error:
        error.add_note(f"case: {case}")
        raise


def _with_fixtures(loop: Test, test: Test, taken: Sequence[str], added: Sequence[str] = ()) -> Test:
    """Give a loop the name of its test, and its fixtures: all arguments but those `taken`."""
    fixtures = [name for name in inspect.signature(test).parameters if name not in taken]
    kind = inspect.Parameter.KEYWORD_ONLY
    functools.update_wrapper(loop, test)
    loop.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in (*fixtures, *added)]
    )
    return loop


def _unlimited(fixtures: Mapping[str, Any]) -> None:
    """Let the cases of a table be more than the requests of a minute."""
    services = getattr(fixtures.get("world"), "services", fixtures.get("services"))
    if services is not None:
        limiter: RateLimiter = services.access.rate_limiter
        limiter._ip = LimitScope("ip", _MANY, 60)
        limiter._account = LimitScope("account", _MANY, 3600)


def _resource(endpoint: Endpoint) -> str:
    return endpoint.path.split("/")[2]
