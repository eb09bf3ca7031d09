"""Fixtures of tests of sending."""

import pytest
import standardwebhooks

from tracker.clock import moment


@pytest.fixture
def any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let receivers accept any timestamp."""
    monkeypatch.setattr(
        standardwebhooks.Webhook, "_Webhook__verify_timestamp", lambda _, at: moment(int(at) * 1000)
    )
