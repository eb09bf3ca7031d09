"""Clients that are generated from `/openapi.json` of a running service do a customer's work.

The programs are examples that a customer may copy: they check what they do themselves.
"""

import json
import lzma
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


NOW, BEFORE = "now", "042c0fed"
"""The document of the service that runs, and that of a commit whose clients are in use."""

RENAMED = {
    "create_short_links": "bulk_short_links",
    "export_report": "export_reports",
    r"((?:Create|Export|ListOrCreate)\w+?)Request(\w*)": r"\1\2",
}
"""What the programs called otherwise before, by patterns of its present names."""


def prepare(program: Path, document: str, command: str, folder: Path) -> str:
    """Write the program for `document`; return the command that generates its client from it."""
    text = program.read_text(encoding="utf-8")
    if document == BEFORE:
        for name, before in RENAMED.items():
            text = re.sub(rf"\b{name}\b", before, text)
        packed = (PROGRAMS / f"previous/{BEFORE}.json.xz").read_bytes()
        (folder / "openapi.json").write_bytes(lzma.decompress(packed))
        command = command.replace("--url", "--path").replace("$BASE/", "")
    (folder / program.name).write_text(text, encoding="utf-8")
    return command


@pytest.mark.parametrize("document", [NOW, BEFORE])
def test_a_program_in_python_does_a_customers_work(
    document: str, known: dict[str, str], tmp_path: Path
) -> None:
    # The generator knows no images, and takes them as bytes if it is told to.
    kinds = dict.fromkeys(("image/svg+xml", "image/png"), "application/octet-stream")
    settings = tmp_path / "generator.json"
    settings.write_text(json.dumps({"content_type_overrides": kinds}), encoding="utf-8")
    shown = block(API, "openapi-python-client generate").strip()
    command = prepare(PROGRAMS / "python/program.py", document, shown, tmp_path)
    run(f"{command} --fail-on-warning --config {settings.name}", tmp_path, known)
    shown = run("python program.py", tmp_path, known)
    assert re.fullmatch(r"verified: [0-9a-f-]{36}\n", shown)


@pytest.mark.parametrize("document", [NOW, BEFORE])
def test_a_program_in_typescript_compiles_strictly_and_does_a_customers_work(
    document: str, known: dict[str, str], tmp_path: Path
) -> None:
    assert npm.CLIENT.are_installed(), "run `python -m lab.npm client`, as `make test` does"
    (tmp_path / "node_modules").symlink_to(npm.CLIENT.modules)
    for name in ("package.json", "tsconfig.json"):
        shutil.copy(PROGRAMS / "typescript" / name, tmp_path)
    shown = block(API, "npx openapi-typescript").replace("npx ", "")
    command = prepare(PROGRAMS / "typescript/program.ts", document, shown, tmp_path)
    run(command, tmp_path, known)
    shown = run("node out/program.js", tmp_path, known)
    assert re.fullmatch(r"verified: [0-9a-f-]{36}\n", shown)
