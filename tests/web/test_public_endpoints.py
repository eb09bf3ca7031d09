"""What every public endpoint checks before its function runs, whichever it is."""

from collections.abc import Iterator
from inspect import signature
from typing import get_origin

import orjson
import pytest

from tests.accounts.api.signing_in import CROSS_SITE, FROM_CONSOLE
from tests.web.client import Client
from tests.web.table import PUBLIC_ENDPOINTS
from tracker.access.rate_limit import LimitScope
from tracker.service.api.routes import DECLARED_ENDPOINTS
from tracker.service.services import Services
from tracker.web.call import Call, PublicCall
from tracker.web.endpoint import Endpoint, Public
from tracker.web.limits import MAX_SIGN_IN_BYTES

EVERY = pytest.mark.parametrize("endpoint", PUBLIC_ENDPOINTS, ids=lambda one: one.path)
Headers = dict[str, str | bytes]


@pytest.fixture(autouse=True)
def an_endpoint_that_is_never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no request get as far as its endpoint: what it checks itself has tests of its own."""

    async def run(*_: object) -> None:
        raise AssertionError("the request passed every check")

    monkeypatch.setattr("tracker.web.endpoint_handler.PublicHandler.result_of", run)


def limits_itself(endpoint: Endpoint) -> bool:
    return isinstance(endpoint.access, Public) and endpoint.access.limits_itself


def refusals(endpoint: Endpoint) -> Iterator[tuple[str, Headers, bytes, int, str]]:
    """Yield requests that break a rule, and the status and beginning of their errors."""
    method, body = endpoint.method, orjson.dumps(endpoint.example)
    for headers in CROSS_SITE.values():
        sent = {name: one for name, one in {**FROM_CONSOLE, **headers}.items() if one}
        yield method, sent, body, 403, "session: accepted only"
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        form: Headers = {**FROM_CONSOLE, "Content_Type": kind}
        yield method, form, body, 400, "Content-Type: must be application/json"
    for other in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
        yield other, FROM_CONSOLE, b"", 405, f"method not allowed; allowed: {method}"
    long = b" " * (MAX_SIGN_IN_BYTES + 1)
    yield method, {}, long, 413, f"body: at most {MAX_SIGN_IN_BYTES} bytes"
    surprise = orjson.dumps({**(endpoint.example or {}), "surprise": 1})
    yield method, FROM_CONSOLE, surprise, 400, "surprise: unknown field"


@EVERY
async def test_a_request_that_breaks_a_rule_is_refused_and_not_kept(
    client: Client, endpoint: Endpoint
) -> None:
    for method, headers, body, status, error in refusals(endpoint):
        answer = await client.request(method, endpoint.path, headers, body)
        assert answer.status == status, (method, headers)
        assert method == "HEAD" or answer.error.startswith(error), (method, headers)
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers.get("Allow") == (endpoint.method if status == 405 else None)


@EVERY
async def test_requests_count_for_the_address_unless_the_endpoint_limits_itself(
    client: Client, services: Services, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.access.rate_limiter, "_ip", LimitScope("ip", 2, 60))
    statuses = [
        (await client.request(endpoint.method, endpoint.path, FROM_CONSOLE, b"{}")).status
        for _ in range(3)
    ]
    assert statuses == [400, 400, 400 if limits_itself(endpoint) else 429]


def test_only_signing_in_limits_itself() -> None:
    assert [one.path for one in PUBLIC_ENDPOINTS if limits_itself(one)] == ["/api/sign-in"]


@pytest.mark.parametrize("endpoint", DECLARED_ENDPOINTS, ids=lambda one: f"{one.method} {one.path}")
def test_a_function_takes_the_call_that_its_access_gives(endpoint: Endpoint) -> None:
    is_public = isinstance(endpoint.access, Public)
    [call] = signature(endpoint.run).parameters.values()
    assert get_origin(call.annotation) is (PublicCall if is_public else Call)
    # The handler of public endpoints has neither.
    assert not (is_public and (endpoint.check or endpoint.export or endpoint.id_names))
