"""Clients that are generated from `/openapi.json` of a running service do a customer's work.

The programs are examples that a customer may copy: they check what they do themselves.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from config.settings import Settings
from lab import npm
from tests.documents import API, block
from tests.paths import ROOT
from tests.system.owner import new_owner
from tests.system.service import Service, environment, running

PROGRAMS = ROOT / "tests/clients"
PATIENCE_SECONDS = 300


@pytest.fixture
def variables(settings: Settings) -> dict[str, str]:
    return environment(settings, RATE_LIMIT_IP_PER_MINUTE="0", WEBHOOK_ALLOW_PRIVATE="1")


@pytest.fixture
def service(variables: dict[str, str]) -> Iterator[Service]:
    with running(variables) as process:
        yield process


@pytest.fixture
def known(service: Service, variables: dict[str, str]) -> dict[str, str]:
    """Return what a program is told."""
    owner = new_owner(variables)
    base = f"http://127.0.0.1:{service.port}"
    return {"BASE": base, "ACCOUNT_ID": owner.account_id, "API_KEY": owner.key}


def run(command: str, folder: Path, known: Mapping[str, str]) -> str:
    """Return the output of a shell command that succeeds."""
    # The generator for Python calls the formatter that is beside the interpreter.
    programs = map(str, (Path(sys.executable).parent, npm.NODE.parent, npm.CLIENT.modules / ".bin"))
    path = os.pathsep.join([*programs, os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-ec", command],
        cwd=folder,
        env={**os.environ, "PATH": path, **known},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_program_in_python_does_a_customers_work(known: dict[str, str], tmp_path: Path) -> None:
    # The generator knows no images, and takes them as bytes if it is told to.
    kinds = dict.fromkeys(("image/svg+xml", "image/png"), "application/octet-stream")
    settings = tmp_path / "generator.json"
    settings.write_text(json.dumps({"content_type_overrides": kinds}), encoding="utf-8")
    command = block(API, "openapi-python-client generate").strip()
    run(f"{command} --fail-on-warning --config {settings.name}", tmp_path, known)
    shutil.copy(PROGRAMS / "python/program.py", tmp_path)
    shown = run("python program.py", tmp_path, known)
    assert re.fullmatch(r"verified: [0-9a-f-]{36}\n", shown)


def test_a_program_in_typescript_compiles_strictly_and_does_a_customers_work(
    known: dict[str, str], tmp_path: Path
) -> None:
    assert npm.CLIENT.are_installed(), "run `python -m lab.npm client`, as `make test` does"
    (tmp_path / "node_modules").symlink_to(npm.CLIENT.modules)
    for name in ("package.json", "tsconfig.json", "program.ts"):
        shutil.copy(PROGRAMS / "typescript" / name, tmp_path)
    run(block(API, "npx openapi-typescript").replace("npx ", ""), tmp_path, known)
    shown = run("node out/program.js", tmp_path, known)
    assert re.fullmatch(r"verified: [0-9a-f-]{36}\n", shown)
