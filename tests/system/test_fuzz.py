"""Generated requests never get a 5xx or an answer that `/openapi.json` does not describe."""

import contextlib
import re
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

import pytest

from config.settings import Settings
from tests.system.fuzz import FUZZED, example_names, fuzz
from tests.system.service import PATIENT, Service, environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS
from tests.web.table import KEYED_ENDPOINTS
from tracker.dns.resolver import HostResolver
from tracker.webhooks.api.schema import TargetUrl

SHORT = (
    *("--phases", "examples,fuzzing", "--max-examples", "2"),
    "--generation-deterministic",
    *("--request-timeout", str(PROCESS_PATIENCE_SECONDS)),
)
"""`make fuzz` also sends every boundary value, for longer."""


def test_generated_requests_are_answered_as_described(
    settings: Settings, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with example_names() as resolver, contextlib.ExitStack() as stack:
        variables = environment(settings, DNS_RESOLVER=resolver, **FUZZED)
        service = stack.enter_context(running(variables, program=PATIENT))
        code = fuzz(service, variables, tmp_path, SHORT)
        found = capfd.readouterr().out
        assert code == 0, found
        accepted = successes(service)
    collections = {(one.path, one.method) for one in KEYED_ENDPOINTS if not one.id_names}
    # These name a webhook, whose id no request guesses.
    collections -= {("/api/alerts", "POST"), ("/api/summaries", "POST")}
    public = {("/c/{slug}", "GET"), ("/api/click", "HEAD"), ("/api/event", "POST")}
    assert accepted >= collections | public


async def test_the_host_of_the_examples_is_this_machine() -> None:
    _, described = get_args(TargetUrl)
    with example_names() as resolver:
        address, port = resolver.split(":")
        hosts = HostResolver((address, int(port)))
        for example in described.examples:
            assert await hosts.resolve(urlsplit(example).hostname) == ["127.0.0.1"]


def successes(service: Service) -> set[tuple[str, str]]:
    """Return route and method of accepted requests, to show that the requests came far enough."""
    pattern = r'tracker_requests_total\{method="(\w+)",route="([^"]+)",status="[23]\d\d"\}'
    text = service.get("/metrics").body.decode()
    return {(route, method) for method, route in re.findall(pattern, text)}
