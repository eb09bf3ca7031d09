"""The modules of the console without a page: those of `modules/`, which Node.js runs."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from lab import npm
from tracker.console.assets import (
    STATIC,
    assets,
    dimensions,
    first_modules,
    modules,
    shell,
    with_imports,
)

TESTS = Path(__file__).parent / "modules"
PATIENCE_SECONDS = 120


def test_modules_without_a_page_do_what_their_tests_say() -> None:
    files = sorted(str(path) for path in TESTS.glob("*.test.mjs"))
    done = subprocess.run(
        [npm.NODE, "--import", TESTS / "resolve.mjs", "--test", "--test-reporter=spec", *files],
        env={
            **os.environ,
            "LC_ALL": "en_US.UTF-8",
            "TZ": "America/New_York",
            "MODULES": json.dumps(modules()),
            "DIMENSIONS": dimensions(),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"^ℹ pass (\d+)$", done.stdout, re.MULTILINE)  # noqa: RUF001
    assert passed is not None
    assert int(passed[1]) >= len(files)


def test_every_module_imports_only_modules_that_exist() -> None:
    scripts = [name for name in assets() if name.endswith(".js") and "vendor/" not in name]
    assert set(with_imports(*scripts)) >= {*scripts}
    for name in scripts:
        text = (STATIC / name).read_text(encoding="utf-8")
        later = re.findall(r'(?:import|lazy)\(\s*"([^"]+)"', text)
        assert [one for one in later if one not in modules()] == [], name


@pytest.mark.parametrize("session", [True, False])
@pytest.mark.parametrize("path", ["/console/overview", "/console/sign-in", "/console/links"])
def test_the_page_names_all_first_modules_before_one_is_run(path: str, session: bool) -> None:
    page = shell(path, False, session, "").body.decode()
    preloaded = re.findall(r'rel="modulepreload" href="([^"]+)"', page)
    assert preloaded == [assets()[name].path for name in first_modules(path, session)]
    assert page.index("importmap") < page.index("modulepreload") < page.rindex("<script")
