"""The alerts and the dashboard ask for metrics that exist, in words that Prometheus accepts."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.documents import OPERATIONS, named
from tests.ops.monitoring import ALERTS, DASHBOARD, expressions
from tests.paths import FILES
from tracker import metrics
from tracker.ingest.drain_counters import families

promtool_needed = pytest.mark.skipif(
    not shutil.which("promtool"), reason="promtool is not installed"
)


@pytest.mark.parametrize("file", [ALERTS, DASHBOARD], ids=lambda file: file.name)
def test_every_metric_of_a_file_exists(file: Path) -> None:
    exposed = metrics.exposition(families({}, ())).decode()
    exist = set(re.findall(r"^# HELP (tracker_\w+)", exposed, re.MULTILINE))
    asked = set(re.findall(r"\btracker_\w+", file.read_text("utf-8")))
    assert len(asked) > 10
    assert asked <= exist


def test_every_metric_is_used() -> None:
    code = "".join(one.read_text("utf-8") for one in FILES)
    names = re.findall(r"^([A-Z_]+) = _(?:counter|gauge|latest)\(", code, re.MULTILINE)
    assert len(names) > 10
    assert [one for one in names if len(re.findall(rf"\b{one}\b", code)) == 1] == []


def test_every_alert_has_a_row_in_the_guide() -> None:
    alerts = re.findall(r"- alert: (\w+)", ALERTS.read_text("utf-8"))
    assert named(OPERATIONS, "alert") == set(alerts)


def promtool(*arguments: str) -> str:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@promtool_needed
def test_alerts_fire_for_their_faults_and_not_without(tmp_path: Path) -> None:
    promtool("check", "rules", str(ALERTS))
    faults = (Path(__file__).parent / "alerts.yml").read_text("utf-8")
    copy = tmp_path / "alerts.yml"
    copy.write_text(faults.replace("[RULES]", f"[{ALERTS}]"))
    assert "SUCCESS" in promtool("test", "rules", str(copy))


@promtool_needed
def test_prometheus_accepts_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
        for number, expression in enumerate(expressions())
    ]
    assert len(rules) > 20
    file = tmp_path / "rules.json"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", str(file))
