"""Every series that an alert or the dashboard reads is there before its first event.

Prometheus sees no increase in the first value of a series: an alert on a counter that appears with
its first increment misses that one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from config.settings import Settings
from tests.ops.monitoring import ALERTS, expressions
from tests.paths import ROOT
from tests.ports import free_port
from tests.system.processes import drain
from tests.system.service import environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until
from tracker.conversions.rules import Rule
from tracker.service.background import OF_DRAINS
from tracker.stores.redis.memory_budget import OptionalWrite

Series = set[tuple[str, frozenset[tuple[str, str]]]]

OF_PROMETHEUS = ("instance", "job")
"""Labels that Prometheus adds."""

SELECTOR = re.compile(r"\b(tracker_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
SCOPE = re.compile(r'\bLimitScope\("(\w+)"')


def asked() -> Iterable[str]:
    rules = re.sub(r"\s+", " ", ALERTS.read_text("utf-8"))
    yield from re.findall(r"expr: (?:>- )?(.+?) (?:for|labels): ", rules)
    yield from expressions()


def selectors() -> set[tuple[str, str]]:
    found = {one for expression in asked() for one in SELECTOR.findall(expression)}
    assert len(found) > 25
    return found


def matches(labels: Mapping[str, str], matchers: str) -> bool:
    return all(
        bool(re.fullmatch(wanted if "~" in operator else re.escape(wanted), labels.get(name, "")))
        is not operator.startswith("!")
        for name, operator, wanted in MATCHER.findall(matchers)
        if name not in OF_PROMETHEUS
    )


def series(port: int) -> Series:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PROCESS_PATIENCE_SECONDS) as answer:
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items()))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def missing(found: Series) -> list[str]:
    return sorted(
        f"{name}{{{matchers}}}"
        for name, matchers in selectors()
        if not any(one == name and matches(dict(labels), matchers) for one, labels in found)
    )


def counters(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.partition("{")[0].endswith("_total")]


def answers(port: int) -> bool:
    try:
        return bool(series(port))
    except OSError:
        return False


def values(found: Series, name: str, label: str) -> set[str]:
    return {dict(labels)[label] for one, labels in found if one == name}


@pytest.mark.parametrize(("role", "processes"), [("web", "2"), ("all", "1")])
def test_every_series_that_an_alert_or_a_panel_reads_is_there_from_the_start(
    settings: Settings, role: str, processes: str
) -> None:
    variables = environment(settings, WEB_CONCURRENCY=processes)
    with running(variables, "--role", role) as service:
        assert counters(missing(series(service.port))) == []
        # With several processes a gauge is there once it was measured.
        until(lambda: missing(series(service.port)) == [])


def test_a_drain_has_every_series_but_those_of_visitors(settings: Settings) -> None:
    port = free_port()
    with drain(environment(settings, METRICS_PORT=str(port))):
        until(lambda: answers(port))
        found = series(port)
    assert [one for one in counters(missing(found)) if "route" not in one] == []


def test_every_value_of_a_label_is_there_from_the_start(settings: Settings) -> None:
    with running(environment(settings), "--role", "web") as service:
        for path in ("/healthz", "/api/short-links/1", "/c/a/b", "/docs", "/console/x", "/nowhere"):
            service.get(path)
        found = series(service.port)
    check_routes([dict(labels) for name, labels in found if name.endswith("requests_total")])
    scopes = {
        name
        for file in (ROOT / "tracker").rglob("*.py")
        for name in SCOPE.findall(file.read_text("utf-8"))
    }
    assert len(scopes) > 3
    assert values(found, "tracker_rate_limited_total", "scope") >= scopes
    skipped = "redis_optional_writes_skipped_total"
    assert values(found, f"tracker_{skipped}", "kind") == set(OptionalWrite)
    assert values(found, f"tracker_fleet_{skipped}", "kind") == set(OptionalWrite)
    assert values(found, "tracker_conversions_refused_total", "rule") == set(Rule)
    assert values(found, "tracker_connections_refused_total", "reason") == {"total", "address"}
    loops = values(found, "tracker_background_loop_failures_total", "loop")
    assert loops >= values(found, "tracker_background_loop_up", "loop")


def check_routes(answered: Sequence[Mapping[str, str]]) -> None:
    """Check that every route shows its failures too."""
    routes = {(one["route"], one["method"]) for one in answered}
    for status in ("500", "503"):
        assert routes == {
            (one["route"], one["method"]) for one in answered if one["status"] == status
        }


def test_the_failures_of_a_drains_loops_are_shown_before_there_is_a_drain(
    settings: Settings,
) -> None:
    port, variables = free_port(), environment(settings)
    of_drains = {"longest_turn", "memory", "copies", *(row.name for row in OF_DRAINS)}
    with running(variables, "--role", "web") as service:
        name = "tracker_fleet_background_loop_failures_total"
        assert values(series(service.port), name, "loop") == of_drains
    with drain({**variables, "METRICS_PORT": str(port)}):
        until(
            lambda: (
                answers(port)
                and "drain" in values(series(port), "tracker_background_loop_up", "loop")
            )
        )
        assert values(series(port), "tracker_background_loop_up", "loop") <= of_drains
