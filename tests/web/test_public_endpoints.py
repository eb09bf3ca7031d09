"""What every public endpoint checks before its function runs, whichever it is."""

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


def body_of(endpoint: Endpoint) -> bytes:
    return orjson.dumps(endpoint.example)


def limits_itself(endpoint: Endpoint) -> bool:
    return isinstance(endpoint.access, Public) and endpoint.access.limits_itself


@EVERY
async def test_a_page_of_another_site_is_refused(client: Client, endpoint: Endpoint) -> None:
    for name, headers in CROSS_SITE.items():
        sent = {name: one for name, one in {**FROM_CONSOLE, **headers}.items() if one}
        answer = await client.request(endpoint.method, endpoint.path, sent, body_of(endpoint))
        refused = answer.error.startswith("session: accepted only")
        assert (answer.status, refused) == (403, True), name


@EVERY
async def test_what_a_form_can_send_is_refused(client: Client, endpoint: Endpoint) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        sent: Headers = {**FROM_CONSOLE, "Content_Type": kind}
        answer = await client.request(endpoint.method, endpoint.path, sent, body_of(endpoint))
        refused = (400, "Content-Type: must be application/json")
        assert (answer.status, answer.error) == refused, kind


@EVERY
async def test_a_long_body_is_refused_before_anything_else(
    client: Client, endpoint: Endpoint
) -> None:
    body = b" " * (MAX_SIGN_IN_BYTES + 1)
    response = await client.request(endpoint.method, endpoint.path, {}, body)
    assert (response.status, response.error) == (413, f"body: at most {MAX_SIGN_IN_BYTES} bytes")


@EVERY
async def test_another_method_is_refused(client: Client, endpoint: Endpoint) -> None:
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
        response = await client.request(method, endpoint.path, FROM_CONSOLE)
        assert (response.status, response.headers["Allow"]) == (405, endpoint.method), method
        assert response.headers["Cache-Control"] == "no-store"


@EVERY
async def test_a_wrong_field_is_named_and_nothing_is_kept(
    client: Client, endpoint: Endpoint
) -> None:
    body = orjson.dumps({**(endpoint.example or {}), "surprise": 1})
    response = await client.request(endpoint.method, endpoint.path, FROM_CONSOLE, body)
    assert (response.status, response.error) == (400, "surprise: unknown field")
    assert response.headers["Cache-Control"] == "no-store"


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
