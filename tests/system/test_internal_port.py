"""INTERNAL_PORT and METRICS_PORT: operators' paths on a port that the public does not reach."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config.settings import Settings
from tests.ports import free_port
from tests.system.certificates import Authority, named_example
from tests.system.owner import new_owner
from tests.system.processes import ask_each, check_both_ready, drain
from tests.system.service import Client, Response, ended, environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until

INTERNAL = ("/metrics", "/docs", "/docs/docs.js", "/openapi.json", "/internal/tls-ask?domain=a.b")
HEALTH = ("/healthz", "/livez", "/readyz")


def ask(port: int, path: str) -> Response:
    client = Client(port)
    try:
        return client("GET", path)
    finally:
        client.close()


def answers(port: int) -> bool:
    try:
        return ask(port, "/healthz").status == 200
    except (OSError, http.client.HTTPException):
        return False


@contextmanager
def taken() -> Iterator[int]:
    """Yield a port that is in use."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_without_an_internal_port_internal_paths_are_on_the_public_port(
    settings: Settings,
) -> None:
    with running(environment(settings)) as service:
        statuses = [service.get(path).status for path in (*HEALTH, *INTERNAL)]
        assert statuses == [200] * 7 + [404]
        assert "verified" in service.get(INTERNAL[-1]).json["error"]


def test_the_internal_port_alone_answers_internal_paths_and_nothing_else(
    settings: Settings,
) -> None:
    port = free_port()
    variables = environment(settings, INTERNAL_PORT=str(port))
    with running(variables) as service:
        new_owner(variables).create_link(service, slug="abc")
        for path in INTERNAL:
            hidden = service.get(path)
            assert (hidden.status, hidden.headers["x-error-code"]) == (404, "unknown_path")
        assert [ask(port, path).status for path in INTERNAL] == [200] * 4 + [404]
        assert "verified" in ask(port, INTERNAL[-1]).json["error"]
        assert b'data-api="elsewhere"' in ask(port, "/docs").body
        for path in HEALTH:
            assert [service.get(path).status, ask(port, path).status] == [200, 200]
        assert service.get("/c/abc").status == 302
        for path in ("/c/abc", "/api/click?s=abc", "/api/event?pbk=x", "/api/short-links"):
            elsewhere = ask(port, path)
            assert (elsewhere.status, elsewhere.json["error"]) == (404, "no such path")
        assert service.stop() == 0
    assert not answers(port)


def test_the_internal_port_of_either_process_shows_the_counts_of_both(
    settings: Settings,
) -> None:
    port = free_port()
    variables = environment(settings, WEB_CONCURRENCY="2", INTERNAL_PORT=str(port))
    with running(variables, "--role", "web") as service:
        check_both_ready(service)
        ask_each(service, lambda: service.get("/c/none").status)
        series = 'tracker_requests_total{method="GET",route="/c/{slug}",status="404"} 2.0'

        def both_shown() -> list[bool]:
            return ask_each(service, lambda: series in ask(port, "/metrics").body.decode())

        # A process may be suspended between its answer and the count of it.
        until(lambda: both_shown() == [True, True])
        assert service.stop() == 0


def test_the_metrics_port_of_a_drain_shows_its_metrics_and_health(
    settings: Settings,
) -> None:
    port = free_port()
    variables = environment(settings)
    with running(variables, "--role", "web") as web:
        new_owner(variables).create_link(web, slug="abc")
        web.get("/c/abc")
        with drain({**variables, "METRICS_PORT": str(port)}) as process:
            until(lambda: answers(port))
            assert [ask(port, path).status for path in HEALTH] == [200] * 3
            drained = 'tracker_drained_total{kind="click"} 1.0'
            until(lambda: drained in ask(port, "/metrics").body.decode())
            for path in ("/docs", "/openapi.json", "/internal/tls-ask", "/c/abc", "/api/event"):
                assert ask(port, path).status == 404
            process.terminate()
            assert process.wait(PROCESS_PATIENCE_SECONDS) == 0


def test_a_drain_names_a_store_that_does_not_answer_and_stays_ready(settings: Settings) -> None:
    port = free_port()
    gone = f"redis://127.0.0.1:{free_port()}/0"
    with drain(environment(settings, METRICS_PORT=str(port), REDIS_URL=gone)):
        until(lambda: answers(port))
        answer = ask(port, "/readyz")
        assert answer.status == 200
        assert answer.json["degraded"]["redis"] == "no answer"


@pytest.mark.parametrize(("role", "name"), [("web", "INTERNAL_PORT"), ("drain", "METRICS_PORT")])
def test_a_taken_port_is_reported_with_its_setting(
    settings: Settings, role: str, name: str
) -> None:
    with taken() as port:
        refused = ended(environment(settings, **{name: str(port)}), "run.py", "--role", role)
    assert refused.returncode == 1
    assert refused.stderr == (
        f"run.py: cannot listen on 127.0.0.1, port {port}: Address already in use. Set {name}.\n"
    )


def test_the_internal_port_speaks_plain_http_even_if_the_public_port_speaks_tls(
    settings: Settings, tmp_path: Path
) -> None:
    port = free_port()
    files = Authority(tmp_path).issue().variables
    variables = files | named_example("https") | {"INTERNAL_PORT": str(port)}
    with running(environment(settings, **variables)):
        answer = ask(port, "/metrics")
        assert answer.status == 200
        assert "strict-transport-security" not in answer.headers
