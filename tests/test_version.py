"""The version is defined once, and shown wherever it is needed."""

import re
import subprocess
import sys
import tomllib
from datetime import date

from tests.paths import ROOT
from tracker import __version__
from tracker.web.openapi.document import document


def test_the_project_and_openapi_read_the_version_from_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "tracker.__version__"}
    assert document([], "https://go.example", {}, {}, {})["info"]["version"] == __version__


def test_the_changelog_has_a_dated_heading_for_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, newest = re.findall(r"^## (.*)$", changelog, re.MULTILINE)[:2]
    version, _, day = newest.partition(" - ")
    assert (unreleased, version) == ("Unreleased", __version__)
    assert date.fromisoformat(day)


def test_run_py_prints_the_version() -> None:
    done = subprocess.run(
        [sys.executable, "run.py", "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (f"tracker {__version__}\n", "")
