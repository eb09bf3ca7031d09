"""A process that was told to stop serves on, not ready, until it is told again or time is up."""

import signal

import pytest

from config.settings import Settings
from tests.system.service import Service, environment, running
from tests.waiting import until


def is_ready(service: Service) -> bool:
    return service.get("/readyz").status == 200


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_stop_waits_for_balancers_and_a_second_signal_ends_the_wait(
    settings: Settings, processes: str
) -> None:
    variables = environment(settings, STOP_DELAY_SECONDS="300", WEB_CONCURRENCY=processes)
    with running(variables, "--role", "web") as service:
        with service.client() as kept:
            assert kept("GET", "/readyz").status == 200
            service.process.send_signal(signal.SIGTERM)
            until(lambda: not is_ready(service))
            assert service.get("/livez").status == 200
            assert kept("GET", "/c/none").status == 404
            refused = service.get("/readyz")
            assert (refused.status, "stop: begun" in refused.json["error"]) == (503, True)
        assert service.process.poll() is None
        assert service.stop() == 0
