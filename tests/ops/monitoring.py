"""The alerts and the expressions in them."""

import json
from typing import Any

from tests.paths import ROOT

ALERTS = ROOT / "ops" / "prometheus-alerts.yml"


DASHBOARD = ROOT / "ops" / "grafana-dashboard.json"


def panels() -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return shown


def expressions() -> list[str]:
    """Return the expressions of the dashboard."""
    return [target["expr"] for panel in panels() for target in panel.get("targets", ())]
